#include "kiln/backend/cpu/samples.hpp"

#include <algorithm>

#include "kiln/backend/cpu/rows.hpp"
#include "kiln/ops/create/draws.hpp"

namespace kiln::cpu {
namespace {

using op::Distribution;

/// Returns a plain number, or the elements of a tensor broadcast to `shape`, in row-major order.
std::vector<double> numbers(const Value& value, const Shape& shape) {
  if (value.is_scalar()) return {value.scalar().to<double>()};
  const Array from = broadcast_to(read(value), shape);
  std::vector<double> result(static_cast<std::size_t>(kiln::numel(shape)));
  const Rows<2> rows(shape, {contiguous_strides(shape), from.strides});
  visit_dtype(from.dtype, [&]<class T>(TypeTag<T>) {
    rows.each([&](const auto& offsets) {
      const T* row = from.as<T>() + offsets[1];
      for (std::int64_t i = 0; i < rows.length(); ++i)
        result[static_cast<std::size_t>(offsets[0] + i * rows.steps()[0])] = convert<double>(row[i * rows.steps()[1]]);
    });
  });
  return result;
}

/// Throws ArgumentError for the first weight, in the order of rows, that cannot be sampled by.
void throw_bad_weights(const std::vector<double>& weights, std::int64_t classes) {
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i) % classes;
    require<ArgumentError>(weights[i] >= 0 && weights[i] < sample::kInfinity, "categorical: weight ", place, " of row ",
                           static_cast<std::int64_t>(i) / classes, " is ", weights[i]);
    sum = place == 0 ? weights[i] : sum + weights[i];
    require<ArgumentError>(place + 1 < classes || (sum > 0 && sum < sample::kInfinity),
                           "categorical: the weights of row ", static_cast<std::int64_t>(i) / classes, " add up to ",
                           sum);
  }
}

/// Replaces kRows rows of weights by their running sums. The additions of one row wait for each other, those of several
/// rows do not. Returns whether all rows can be sampled by.
template <std::size_t kRows>
bool add_up_rows(double* weights, std::size_t classes) {
  double sum[kRows] = {};
  bool good = true;
  for (std::size_t c = 0; c < classes; ++c)
    for (std::size_t row = 0; row < kRows; ++row) {
      double& weight = weights[row * classes + c];
      good &= weight >= 0;
      weight = sum[row] = c == 0 ? weight : sum[row] + weight;
    }
  for (const double all : sum) good &= all > 0 && all < sample::kInfinity;
  return good;
}

/// Returns the running sums of rows of weights.
std::vector<double> running_sums(const Value& weights, std::int64_t classes) {
  constexpr std::size_t kTogether = 4;
  std::vector<double> sums = numbers(weights, weights.shape());
  const auto length = static_cast<std::size_t>(classes), rows = sums.size() / length;
  bool good = true;
  std::size_t row = 0;
  for (; row + kTogether <= rows; row += kTogether) good &= add_up_rows<kTogether>(sums.data() + row * length, length);
  for (; row < rows; ++row) good &= add_up_rows<1>(sums.data() + row * length, length);
  if (!good) throw_bad_weights(numbers(weights, weights.shape()), classes);
  return sums;
}

/// Returns how many elements of an ascending row are not above `most`: a binary search without branches, half of which
/// would be predicted wrong.
std::int64_t count_up_to(const double* row, std::int64_t length, double most) {
  std::int64_t count = 0;
  while (length > 0) {
    const std::int64_t half = (length + 1) / 2;
    count += row[count + half - 1] <= most ? half : 0;
    length -= half;
  }
  return count;
}

double parameter(const std::vector<double>& numbers, std::int64_t i) {
  return numbers[numbers.size() == 1 ? 0 : static_cast<std::size_t>(i)];
}

}  // namespace

bool Samples::make(const op::Random& op, Call call) {
  switch (op.distribution) {
    case Distribution::Uniform:
    case Distribution::Normal:
    case Distribution::Exponential: return false;
    case Distribution::Bernoulli: return !call.in[op::Random::a].is_scalar();
    default: return true;
  }
}

Samples::Samples(const op::Random& op, Call call)
    : distribution_(op.distribution),
      key_{static_cast<std::uint64_t>(call.in[op::Random::key].scalar().to<std::int64_t>())} {
  const Value &a = call.in[op::Random::a], &b = call.in[op::Random::b];
  if (distribution_ == Distribution::Integer) {
    low_ = a.scalar().to<std::int64_t>();
    high_ = b.scalar().to<std::int64_t>();
  } else if (distribution_ == Distribution::Categorical) {
    classes_ = a.dim(-1);
    samples_ = op.shape.back();
    a_ = running_sums(a, classes_);
  } else {
    a_ = numbers(a, op.shape);
    b_ = numbers(b, op.shape);
  }
}

double Samples::real(std::int64_t i) const {
  sample::Stream stream(key_, i);
  switch (distribution_) {
    case Distribution::Bernoulli:
      return static_cast<double>(to_uniform(random_word(key_, static_cast<std::uint64_t>(i)))) < parameter(a_, i);
    case Distribution::TruncatedNormal: return sample::truncated_normal(stream, parameter(a_, i), parameter(b_, i));
    case Distribution::Gamma: return sample::gamma(stream, parameter(a_, i));
    case Distribution::Beta: return sample::beta(stream, parameter(a_, i), parameter(b_, i));
    case Distribution::Poisson: return sample::poisson(stream, parameter(a_, i));
    default: KILN_CHECK(false); return 0;
  }
}

std::int64_t Samples::whole(std::int64_t i) const {
  sample::Stream stream(key_, i);
  if (distribution_ == Distribution::Integer) return sample::integer(stream, low_, high_);
  // Finds the first class whose running sum exceeds a number below the total, so never a class without weight.
  const auto first = a_.begin() + i / samples_ * classes_, last = first + classes_;
  const double target = stream.uniform() * *(last - 1);
  const auto found = first + count_up_to(&*first, classes_, target);
  // Rounding may reach the total; then the last class with a weight is taken.
  return (found < last ? found : std::lower_bound(first, last, *(last - 1))) - first;
}

void Samples::fill(const Array& result, std::int64_t begin, std::int64_t end) const {
  const auto fill_by = [&](auto&& draw) {
    visit_dtype(result.dtype, [&]<class T>(TypeTag<T>) {
      for (std::int64_t i = begin; i < end; ++i) result.as<T>()[i] = convert<T>(draw(i));
    });
  };
  if (distribution_ == Distribution::Integer || distribution_ == Distribution::Categorical)
    fill_by([this](std::int64_t i) { return whole(i); });
  else fill_by([this](std::int64_t i) { return real(i); });
}

}  // namespace kiln::cpu
