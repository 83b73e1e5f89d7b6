// Counts elements by value.
#pragma once
#include "kiln/ops/functions.hpp"
#include "kiln/ops/tensor_option.hpp"

namespace kiln {

/// Counts how often each of 0, 1, 2, ... occurs in the integers x, int64; or sums the weights (of x's shape) of its
/// occurrences, in their type. The result is as long as the largest element needs, and has at least `least` entries.
/// Waits.
Value bincount(const Value& x, const Value& weights = {}, std::int64_t least = 0);

struct HistogramValues {
  Value counts;  // [bins]: int64; or of the type of the weights, or a density
  Value edges;   // [bins + 1]
};
struct HistogramOptions {
  TensorOption weights{};  // of x's shape: the weight of each element
  bool density = false;    // counts divided by their sum and the widths of the bins
};
/// Bin i holds edges[i] <= x < edges[i + 1]; the last edge belongs to the last bin. Elements outside, and NaN, are not
/// counted. `edges` ascend.
HistogramValues histogram(const Value& x, const Value& edges, const HistogramOptions& options = {});
/// Bins of equal width from `low` to `high`.
HistogramValues histogram(const Value& x, std::int64_t bins, double low, double high,
                          const HistogramOptions& options = {});
/// Bins from the least element to the largest, extended by half a unit to either side where they are equal. Both must
/// be finite, or nothing is counted.
HistogramValues histogram(const Value& x, std::int64_t bins, const HistogramOptions& options = {});
/// The counts alone, in x's type; an empty range means the range of the elements.
Value histc(const Value& x, std::int64_t bins, double low = 0, double high = 0);

}  // namespace kiln
