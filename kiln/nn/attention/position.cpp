#include "kiln/nn/attention/position.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kiln/nn/attention/cache.hpp"

namespace kiln::nn {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

/// `count` rows of a table from `start` on.
Value rows_of(std::string_view layer, const Value& table, std::int64_t start, std::int64_t count) {
  require<ShapeError>(start >= 0 && count <= table.dim(0) - start, layer, ": positions ", start, " to ",
                      start + count - 1, " are not all in the table, which has ", table.dim(0));
  return count == 1 ? select(table, 0, index_of(start, table.device())) : narrow(table, 0, start, count);
}

void require_positive(std::string_view name, std::initializer_list<double> numbers) {
  for (const double number : numbers)
    require<ArgumentError>(number > 0, "RotaryScaling: ", name, " has an option that is not positive: ", number);
}

struct Scale {
  double base;
  RotaryFrequencies& of;

  double width() const { return 2 * static_cast<double>(of.radians.size()); }
  void operator()(const scaling::None&) const {}
  void operator()(const scaling::Linear& s) const {
    require_positive("Linear", {s.factor});
    for (double& radian : of.radians) radian /= s.factor;
  }
  void operator()(const scaling::Ntk& s) const {
    require_positive("Ntk", {s.factor});
    if (of.radians.size() == 1) return;  // a single frequency is the highest
    const double other = base * std::pow(s.factor, width() / (width() - 2));
    for (std::size_t i = 0; i < of.radians.size(); ++i)
      of.radians[i] = std::pow(other, -2 * static_cast<double>(i) / width());
  }
  void operator()(const scaling::DynamicNtk& s) const { require_positive("DynamicNtk", {s.factor}); }
  void operator()(const scaling::Yarn& s) const {
    const auto original = static_cast<double>(s.original_length);
    require_positive("Yarn", {s.factor, original, s.beta_fast, s.beta_slow});
    // The index of the frequency whose wave makes `turns` turns within the original length.
    const auto place = [&](double turns) {
      return width() * std::log(original / (turns * kTurn)) / (2 * std::log(base));
    };
    const double begin = place(s.beta_fast), end = place(s.beta_slow);
    const double first = std::max(s.truncate ? std::floor(begin) : begin, 0.0);
    double last = std::min(s.truncate ? std::ceil(end) : end, width() - 1);
    if (last == first) last += 0.001;  // follows the authors' program; no frequency beyond it is divided
    for (std::size_t i = 0; i < of.radians.size(); ++i) {
      const double slow = std::clamp((static_cast<double>(i) - first) / (last - first), 0.0, 1.0);
      of.radians[i] *= slow / s.factor + (1 - slow);
    }
    of.amplitude = s.attention.value_or(s.factor > 1 ? 0.1 * std::log(s.factor) + 1 : 1);
  }
  void operator()(const scaling::Llama3& s) const {
    const auto original = static_cast<double>(s.original_length);
    require_positive("Llama3", {s.factor, s.low, s.high, original});
    require<ArgumentError>(s.low < s.high, "RotaryScaling: Llama3 needs low = ", s.low, " below high = ", s.high);
    for (double& radian : of.radians) {
      const double turns = original * radian / kTurn;
      const double kept = std::clamp((turns - s.low) / (s.high - s.low), 0.0, 1.0);
      radian *= kept + (1 - kept) / s.factor;
    }
  }
  void operator()(const scaling::Divided& s) const { divide("Divided", s.factors); }
  void operator()(const scaling::LongRope& s) const {
    require_positive("LongRope", {static_cast<double>(s.original_length), s.attention});
    divide("LongRope", s.short_factors);
    of.amplitude = s.attention;
  }

  void divide(std::string_view name, const std::vector<double>& factors) const {
    require<ArgumentError>(factors.size() == of.radians.size(), "RotaryScaling: ", name, " has ", factors.size(),
                           " factors for ", of.radians.size(), " frequencies");
    for (std::size_t i = 0; i < factors.size(); ++i) {
      require_positive(name, {factors[i]});
      of.radians[i] /= factors[i];
    }
  }
};

}  // namespace

Tensor<3> PositionalEncoding::forward(const Tensor<3>& x, std::int64_t start) const {
  return dropout.forward(
      Tensor<3>(x.value() + cast(rows_of("PositionalEncoding", table.value(), start, x.dim(1)), x.dtype())));
}

PositionalEncoding PositionalEncodingConfig::init(const Device& device) const {
  require<ArgumentError>(base > 0 && std::isfinite(base), "PositionalEncodingConfig: base = ", base,
                         " must be positive and finite");
  require<ArgumentError>(width > 0 && length > 0, "PositionalEncodingConfig: width = ", width, " and length = ", length,
                         " must be positive");
  return {.table = Tensor<2>(sinusoidal_positions({length, width}, device, base).detach()),
          .dropout = {.probability = dropout}};
}

Tensor<3> LearnedPositions::forward(const Tensor<3>& x, std::int64_t start) const {
  return Tensor<3>(x.value() + rows_of("LearnedPositions", weight.value(), start, x.dim(1)));
}

LearnedPositions LearnedPositionsConfig::init(const Device& device) const {
  require<ArgumentError>(width > 0 && length > 0, "LearnedPositionsConfig: width = ", width, " and length = ", length,
                         " must be positive");
  return {Param<2>(initialize(initializer, {length, width}, {.in = length, .out = width}, device))};
}

RotaryFrequencies rotary_frequencies(std::int64_t width, double base, const RotaryScaling& scaling) {
  require<ArgumentError>(width > 0 && width % 2 == 0, "RotaryEncoding: the width must be positive and even, got ",
                         width);
  require<ArgumentError>(base > 1, "RotaryEncoding: the base must be above 1, got ", base);
  RotaryFrequencies result;
  for (std::int64_t i = 0; i < width / 2; ++i)
    result.radians.push_back(std::pow(base, -2 * static_cast<double>(i) / static_cast<double>(width)));
  std::visit(Scale{base, result}, scaling);
  return result;
}

RotaryEncoding::Table RotaryEncoding::table(std::int64_t start, std::int64_t count, std::int64_t length) const {
  const std::int64_t known = cosine.dim(0);
  if (!growth || (length <= known && start + count <= known))
    return {rows_of("RotaryEncoding", cosine.value(), start, count),
            rows_of("RotaryEncoding", sine.value(), start, count)};
  require<ShapeError>(start >= 0, "RotaryEncoding: positions begin at 0, got ", start);
  const RotaryFrequencies frequencies = [&]() -> RotaryFrequencies {
    if (!growth->radians.empty()) {  // the cache's memory may extend beyond the table before its sequence does
      const auto first = growth->radians.begin() + (length > known ? cosine.dim(1) : 0);
      return {{first, first + cosine.dim(1)}, growth->amplitude};
    }
    const double ratio = static_cast<double>(std::max(length, known)) / static_cast<double>(known);
    return rotary_frequencies(2 * cosine.dim(1), growth->base, scaling::Ntk{growth->factor * (ratio - 1) + 1});
  }();
  const std::vector<double>& radians = frequencies.radians;
  const Device device = cosine.device().inner();
  const Value position = cast(arange(0, count, 1, device) + index_of(start, device), DType::F64);
  const Value angle = unsqueeze(position, 1) *
                      from_data(TensorData::of<double>({static_cast<std::int64_t>(radians.size())}, radians), device);
  const auto as_table = [&](const Value& of) { return cast(of * frequencies.amplitude, DType::F32); };
  return {as_table(cos(angle)), as_table(sin(angle))};
}

Value RotaryEncoding::turned(const Value& x, const Table& table) const {
  const std::int64_t width = 2 * cosine.dim(1);
  if (x.dim(-1) <= width) return rotary(x, table.cosine, table.sine, pairs);
  return cat(
      Values{rotary(narrow(x, -1, 0, width), table.cosine, table.sine, pairs), narrow(x, -1, width, x.dim(-1) - width)},
      -1);
}

Value RotaryEncoding::apply(const Value& x, std::int64_t start, std::int64_t length) const {
  return turned(x, table(start, x.dim(-2), length ? length : start + x.dim(-2)));
}

Tensor<4> RotaryEncoding::forward(const Tensor<4>& x, const Tensor<2, Int>& positions) const {
  require<ArgumentError>(
      !growth, "RotaryEncoding: positions do not give the length of a sequence, which DynamicNtk and LongRope need");
  const auto at = [&](const Tensor<2>& of) { return unsqueeze(select(of.value(), 0, positions.value()), 1); };
  return Typed{turned(x.value(), {at(cosine), at(sine)})};
}

RotaryEncoding RotaryEncodingConfig::init(const Device& device) const {
  require<ArgumentError>(length > 0, "RotaryEncodingConfig: length = ", length, " must be positive");
  const RotaryFrequencies frequencies = rotary_frequencies(width, base, scaling);
  const auto* const long_rope = std::get_if<scaling::LongRope>(&scaling);
  const std::int64_t known = long_rope ? std::min(length, long_rope->original_length) : length;
  const Shape shape{known, width / 2};
  TensorData cosine(shape, DType::F32), sine(shape, DType::F32);
  // In double precision: at positions of some thousands float32 has few digits left.
  float *c = cosine.as<float>().data(), *s = sine.as<float>().data();
  for (std::int64_t position = 0; position < known; ++position)
    for (const double radian : frequencies.radians) {
      const double angle = static_cast<double>(position) * radian;
      *c++ = static_cast<float>(frequencies.amplitude * std::cos(angle));
      *s++ = static_cast<float>(frequencies.amplitude * std::sin(angle));
    }
  RotaryEncoding encoding{.cosine = Tensor<2>(from_data(std::move(cosine), device)),
                          .sine = Tensor<2>(from_data(std::move(sine), device)),
                          .pairs = pairs};
  if (const auto* dynamic = std::get_if<scaling::DynamicNtk>(&scaling)) encoding.growth = {base, dynamic->factor};
  if (long_rope) {
    const RotaryFrequencies beyond = rotary_frequencies(width, base, scaling::Divided{long_rope->long_factors});
    encoding.growth = {base, 1, frequencies.radians, long_rope->attention};
    encoding.growth->radians.insert(encoding.growth->radians.end(), beyond.radians.begin(), beyond.radians.end());
  }
  return encoding;
}

}  // namespace kiln::nn
