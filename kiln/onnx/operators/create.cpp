// Tensors made of nothing but numbers.
#include "kiln/ops/create/create.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/onnx/passes/shape_rules.hpp"
#include "kiln/ops/view/diagonal.hpp"

namespace kiln::onnx {
namespace {

Results constant(Call& c) {
  const auto of = [&](const auto& numbers, const Shape& shape) -> Results {
    using T = typename std::decay_t<decltype(numbers)>::value_type;
    return from_data(TensorData::of<T>(shape, std::span<const T>(numbers)), c.device());
  };
  const auto count = [](const auto& list) { return Shape{static_cast<std::int64_t>(list.size())}; };
  if (c.given("value")) return *c.tensor("value");
  if (c.given("sparse_value")) {
    const Attribute& found = *find_attribute(c.node, "sparse_value");
    c.check(!found.tensors.empty(), "attribute 'sparse_value' holds no tensor");
    return found.tensors.front();
  }
  if (c.given("value_float")) return of(std::vector<float>{static_cast<float>(c.f("value_float", 0))}, {});
  if (c.given("value_floats")) return of(c.floats("value_floats"), count(c.floats("value_floats")));
  if (c.given("value_int")) return of(Ints{c.i("value_int", 0)}, {});
  if (c.given("value_ints")) return of(c.ints("value_ints"), count(c.ints("value_ints")));
  if (c.given("value_string")) return Datum::of_strings({}, {c.s("value_string", "")}, c.device());
  if (c.given("value_strings"))
    return Datum::of_strings(count(c.strings("value_strings")), c.strings("value_strings"), c.device());
  c.wrong("there is no value");
}

Results constant_of_shape(Call& c) {
  const Shape shape = to_shape(c.ints(0));
  const Datum* const value = c.tensor("value");
  if (!value) return zeros(shape, c.device());
  c.check(value->value().numel() == 1, "the value is ", *value, ", not one element");
  return value->like(expand(reshape(value->value(), Shape::filled(shape.size(), 1)), shape));
}

Results eye_like(Call& c) {
  const Value& x = c[0];
  c.check(x.rank() == 2, "a matrix is needed, not ", x.shape());
  return cast_to(diag_mask(x.shape(), c.device(), c.i("k", 0)), c.element("dtype", c.datum(0).element()));
}

Results range_of_numbers(Call& c) {
  const DType type = c[0].dtype();
  if (is_integer(type)) {
    const std::int64_t start = c.integer(0), end = c.integer(1), step = c.integer(2);
    c.check(step != 0, "delta is 0");
    return arange(start, end, step, c.device(), type);
  }
  const double start = c.number(0), end = c.number(1), step = c.number(2), count = std::ceil((end - start) / step);
  c.check(step != 0 && count < 0x1p40, "from ", start, " to ", end, " by ", step);
  const DType wide = type == DType::F64 ? DType::F64 : DType::F32;
  const Value places = cast(arange(0, static_cast<std::int64_t>(std::max(count, 0.0)), 1, c.device()), wide);
  return of_type(places * step + start, type);
}

// a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N)
template <class F>
Results window(Call& c, F&& at) {
  const std::int64_t size = c.integer(0);
  c.check(size >= 0 && size <= 1 << 26, "a window of ", size, " elements");
  c.check_room(size, 2 * sizeof(double));
  const double period = static_cast<double>(c.i("periodic", 1) ? size : std::max<std::int64_t>(size - 1, 1));
  std::vector<double> values;
  for (std::int64_t n = 0; n < size; ++n) values.push_back(at(2 * std::numbers::pi * static_cast<double>(n) / period));
  return cast_to(from_data(TensorData::of<double>({size}, values), c.device()),
                 c.element("output_datatype", Element::Float));
}
Results hann(Call& c) {
  return window(c, [](double x) { return 0.5 - 0.5 * std::cos(x); });
}
Results hamming(Call& c) {
  return window(c, [](double x) { return 25.0 / 46 - 21.0 / 46 * std::cos(x); });
}
Results blackman(Call& c) {
  return window(c, [](double x) { return 0.42 - 0.5 * std::cos(x) + 0.08 * std::cos(2 * x); });
}

// Triangles on the mel scale: [dft_length / 2 + 1, bins].
Results mel_weight_matrix(Call& c) {
  const std::int64_t bins = c.integer(0), length = c.integer(1), rate = c.integer(2);
  const double low = c.number(3), high = c.number(4);
  c.check(bins >= 1 && length >= 1 && rate >= 1 && bins <= 1 << 12 && length <= 1 << 16 && low >= 0 && high >= low &&
              high <= 1e9,
          "there are no ", bins, " bins of a transform of ", length, " at ", rate, " Hz");
  const std::int64_t rows = length / 2 + 1;
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double step = (mel(high) - mel(low)) / static_cast<double>(bins + 2);
  Ints edges;
  for (std::int64_t i = 0; i < bins + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (static_cast<double>(i) * step + mel(low)) / 2595) - 1);
    edges.push_back(
        static_cast<std::int64_t>(std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate))));
  }
  TensorData out({rows, bins}, DType::F64);
  const auto values = out.as<double>();
  const auto set = [&](std::int64_t row, std::int64_t bin, double x) {
    if (row >= 0 && row < rows) values[static_cast<std::size_t>(row * bins + bin)] = x;
  };
  for (std::int64_t bin = 0; bin < bins; ++bin) {
    const std::int64_t from = edges[static_cast<std::size_t>(bin)], centre = edges[static_cast<std::size_t>(bin + 1)],
                       to = edges[static_cast<std::size_t>(bin + 2)];
    if (from == centre) set(centre, bin, 1);
    for (std::int64_t j = from; j <= std::min(centre, rows) && from < centre; ++j)
      set(j, bin, static_cast<double>(j - from) / static_cast<double>(centre - from));
    for (std::int64_t j = centre; j < std::min(to, rows); ++j)
      set(j, bin, static_cast<double>(to - j) / static_cast<double>(to - centre));
  }
  return cast_to(from_data(std::move(out), c.device()), c.element("output_datatype", Element::Float));
}

constexpr OperatorRow kCreateRows[] = {
    {"BlackmanWindow", 17, blackman, {.folds = false}},
    {"Constant", 1, constant},
    {"ConstantOfShape", 9, constant_of_shape, {.kind = OperatorKind::GivenShape}},
    {"EyeLike", 9, eye_like, {.kind = OperatorKind::SameShape, .folds = false}},
    {"HammingWindow", 17, hamming, {.folds = false}},
    {"HannWindow", 17, hann, {.folds = false}},
    {"MelWeightMatrix", 17, mel_weight_matrix, {.folds = false}},
    {"Range", 11, range_of_numbers, {.shape = shape_rules::range, .folds = false}},
};

}  // namespace

std::span<const OperatorRow> create_rows() { return kCreateRows; }

}  // namespace kiln::onnx
