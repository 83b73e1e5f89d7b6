#include "kiln/vision/windows.hpp"

namespace kiln::vision {
namespace {

/// Windows of more elements are left to a convolution.
constexpr std::size_t kMostSlices = 32;

/// By a convolution of one channel.
Value convolved(const Value& x, int dim, std::span<const double> weights) {
  const auto size = static_cast<std::int64_t>(weights.size());
  const bool down = dim == x.rank() - 2;
  const Value kernel =
      from_data(TensorData::of<double>(down ? Shape{1, 1, size, 1} : Shape{1, 1, 1, size}, weights), x.device());
  const Value alone = reshape(x, {x.dim(0) * x.dim(1), 1, x.dim(2), x.dim(3)});
  const Value y = conv(alone, cast(kernel, x.dtype()), {});
  return reshape(y, {x.dim(0), x.dim(1), y.dim(2), y.dim(3)});
}

/// Windows whose size is a power of two are made of two of half the size; any two that cover a window give its extreme.
template <class Combine>
Value extremes(const Value& x, int dim, std::int64_t size, Combine combine) {
  Value windows = x;
  std::int64_t length = 1;
  const std::int64_t all = x.dim(dim);
  const auto join = [&](std::int64_t shift) {
    const std::int64_t count = all - length + 1 - shift;
    windows = combine(narrow(windows, dim, 0, count), narrow(windows, dim, shift, count));
    length += shift;
  };
  while (2 * length <= size) join(length);
  if (length < size) join(size - length);
  return windows;
}

}  // namespace

Value correlated(const Value& x, int dim, std::span<const double> weights) {
  if (weights.size() > kMostSlices) return convolved(x, dim, weights);
  const std::int64_t count = x.dim(dim) - static_cast<std::int64_t>(weights.size()) + 1;
  Value result;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0 && !(i + 1 == weights.size() && !result)) continue;
    const Value slice = narrow(x, dim, static_cast<std::int64_t>(i), count);
    const Value term = weights[i] == 1 ? slice : slice * weights[i];
    result = result ? result + term : term;
  }
  return result;
}

Value window_sums(const Value& x, int dim, std::int64_t size) {
  const std::int64_t count = x.dim(dim) - size + 1;
  Value result, power = x;
  std::int64_t begin = 0;
  for (std::int64_t length = 1; length <= size; length *= 2) {
    if (size & length) {
      const Value part = narrow(power, dim, begin, count);
      result = result ? result + part : part;
      begin += length;
    }
    if (2 * length > size) break;
    const std::int64_t left = power.dim(dim) - length;
    power = narrow(power, dim, 0, left) + narrow(power, dim, length, left);
  }
  return result;
}

Value window_maxima(const Value& x, int dim, std::int64_t size) {
  return extremes(x, dim, size, [](const Value& a, const Value& b) { return maximum(a, b); });
}
Value window_minima(const Value& x, int dim, std::int64_t size) {
  return extremes(x, dim, size, [](const Value& a, const Value& b) { return minimum(a, b); });
}

}  // namespace kiln::vision
