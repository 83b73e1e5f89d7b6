// Histograms of pictures [batch, channels, height, width], channel by channel, and functions that are based on them.
#pragma once
#include "kiln/vision/pictures.hpp"

namespace kiln::vision {

/// Bins of equal width from `low` to `high`, exclusive. Values outside, and NaN, are not counted.
struct Bins {
  std::int64_t count = 256;
  double low = 0, high = 256;
};
/// Counts the values of each bin: int64 [batch, channels, bins].
Value histogram(const Value& x, const Bins& bins = {});

/// Equalises the histogram of bytes, so that all values are about equally frequent; OpenCV's result to the bit. A
/// picture with a single value stays as it is.
Value equalized(const Value& x);

enum class ThresholdKind : std::uint8_t {
  Binary,         // above: `value`, else 0
  BinaryInverse,  // above: 0, else `value`
  Truncate,       // above: the level, else x
  ToZero,         // above: x, else 0
  ToZeroInverse,  // above: 0, else x
};
struct Threshold {
  ThresholdKind kind = ThresholdKind::Binary;
  double value = 255;
};
/// Compares x with a level, which is a number or a tensor [batch, channels]. The result has the element type of x: for
/// integers, levels are rounded down, and values are rounded and clamped to the type's range.
Value threshold(const Value& x, const Value& level, const Threshold& options = {});

/// Returns the level that best splits a channel's values into two classes, by the variance between them (Otsu, "A
/// threshold selection method from gray-level histograms", 1979): float64 [batch, channels], the lower end of the last
/// bin of the lower class, as in OpenCV. It is 0 where all bins are empty. Floats from 0 to 1 need {.high = 1}.
Value otsu_levels(const Value& x, const Bins& bins = {});

template <class K>
Tensor<3, Int> histogram(const Tensor<4, K>& x, const Bins& bins = {}) {
  return Typed{histogram(x.value(), bins)};
}
inline Tensor<4, Int> equalized(const Tensor<4, Int>& x) { return Typed{equalized(x.value())}; }
template <class K, Number N>
Tensor<4, K> threshold(const Tensor<4, K>& x, N level, const Threshold& options = {}) {
  return Typed{threshold(x.value(), Value(level), options)};
}
template <class K>
Tensor<4, K> threshold(const Tensor<4, K>& x, const Tensor<2>& levels, const Threshold& options = {}) {
  return Typed{threshold(x.value(), levels.value(), options)};
}
template <class K>
Tensor<2> otsu_levels(const Tensor<4, K>& x, const Bins& bins = {}) {
  return Typed{otsu_levels(x.value(), bins)};
}

}  // namespace kiln::vision
