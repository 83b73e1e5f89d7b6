// Compares the contents of two tensors and reports the differences.
#include <limits>

#include "kiln/core/tensor_data.hpp"

namespace kiln {
namespace {

// The type in which elements are compared and printed, without loss.
template <class T>
using Compared = std::conditional_t<std::is_same_v<T, F16> || std::is_same_v<T, BF16>, float, T>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The distance of two elements; infinite where one is NaN or infinite and the other is not equal to it.
template <class T>
double distance(T actual, T expected) {
  if constexpr (std::is_integral_v<T>) {
    const auto a = static_cast<std::uint64_t>(actual), e = static_cast<std::uint64_t>(expected);
    return static_cast<double>(actual < expected ? e - a : a - e);
  } else {
    const double a = actual, e = expected;
    if (a == e) return 0;
    const double off = a < e ? e - a : a - e;
    return off < kInfinity ? off : kInfinity;
  }
}

// The distance from `expected` that is tolerated; 0 where `expected` is infinite.
template <class T>
double allowance(T expected, const Tolerance& tolerance) {
  const double magnitude = expected < T{0} ? -static_cast<double>(expected) : static_cast<double>(expected);
  return magnitude < kInfinity ? tolerance.absolute + tolerance.relative * magnitude : 0;
}

template <class T>
bool is_nan(T value) {
  if constexpr (std::is_integral_v<T>) return false;
  else return value != value;
}

Dims position_of(std::int64_t index, const Shape& shape) {
  Dims position = shape;
  for (int dim = shape.size() - 1; dim >= 0; --dim) {
    position[dim] = index % shape[dim];
    index /= shape[dim];
  }
  return position;
}

template <class T>
std::string compare(const TensorData& actual, const TensorData& expected, const Tolerance& tolerance) {
  const auto a = actual.to_vector<T>(), e = expected.to_vector<T>();
  const auto element = [&](std::size_t i) {
    const double off = distance<T>(a[i], e[i]);
    const Dims position = position_of(static_cast<std::int64_t>(i), actual.shape());
    return text(position, ": ", T{a[i]}, ", expected ", T{e[i]}, off < kInfinity ? text(" (off by ", off, ")") : "");
  };
  constexpr int kShown = 5;
  std::int64_t differing = 0;
  std::size_t worst = 0;
  double worst_distance = -1;
  std::string first;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (tolerance.equal_nan && is_nan<T>(a[i]) && is_nan<T>(e[i])) continue;
    const double off = distance<T>(a[i], e[i]);
    if (off <= allowance<T>(e[i], tolerance)) continue;
    if (off > worst_distance) worst = i, worst_distance = off;
    if (++differing <= kShown) first += "\n  " + element(i);
  }
  if (differing == 0) return {};
  return text(differing, " of ", a.size(), " elements differ by more than ", tolerance.absolute, " + ",
              tolerance.relative, " * |expected|\n  worst ", element(worst), first);
}

}  // namespace

std::string difference(const TensorData& actual, const TensorData& expected, const Tolerance& tolerance) {
  if (actual.shape() != expected.shape()) return text("shape ", actual.shape(), ", expected ", expected.shape());
  if (actual.dtype() != expected.dtype()) return text("type ", actual.dtype(), ", expected ", expected.dtype());
  return visit_dtype(actual.dtype(), [&](auto tag) {
    return compare<Compared<typename decltype(tag)::type>>(actual, expected, tolerance);
  });
}

}  // namespace kiln
