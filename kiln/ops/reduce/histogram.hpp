// Counting elements by value.
#pragma once
#include "kiln/ops/functions.hpp"
#include "kiln/ops/tensor_option.hpp"

namespace kiln {

/// How often each of 0, 1, 2, ... occurs in the integers x, int64; or the sum of the weights (of x's shape) where it
/// does, in their type. The result is as long as the largest element needs, and has at least `least` entries. Waits.
Value bincount(const Value& x, const Value& weights = {}, std::int64_t least = 0);

struct Histogram {
  Value counts;  // [bins]: int64; or of the type of the weights, or a density
  Value edges;   // [bins + 1]
};
struct HistogramOptions {
  TensorOption weights{};  // of x's shape; each element counts as much
  bool density = false;    // counts divided by their sum and the widths of the bins
};
/// Bin i holds edges[i] <= x < edges[i + 1]; the last edge belongs to the last bin. What lies outside, and NaN, is not
/// counted. `edges` ascend.
Histogram histogram(const Value& x, const Value& edges, const HistogramOptions& options = {});
/// Bins of equal width from `low` to `high`.
Histogram histogram(const Value& x, std::int64_t bins, double low, double high, const HistogramOptions& options = {});
/// From the least element to the largest, half a unit to either side where they are equal. They must be finite, or
/// nothing is counted.
Histogram histogram(const Value& x, std::int64_t bins, const HistogramOptions& options = {});
/// The counts alone, in x's type; a range that is empty stands for that of the elements.
Value histc(const Value& x, std::int64_t bins, double low = 0, double high = 0);

}  // namespace kiln
