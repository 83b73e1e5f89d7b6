// A band matrix applied to lines of elements.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "kiln/ops/spatial/resample_ops.hpp"

namespace kiln::cpu::simd {

/// Elements [begin, begin + count) of the operand, `stride` apart, weighed and added.
struct WeightedRow {
  const float* weights;
  std::int64_t begin, count;
};

/// result[i] = the sum over k of weights[k] * x[(begin + k) * inner + i], for i < inner.
void add_lines(const WeightedRow& row, const float* x, std::int64_t inner, float* result);

/// The same for all results of a line at once, where `inner` is too small to fill vectors: every result has as many
/// taps as the one with the most, those in excess of weight 0.
struct LineTable {
  std::int64_t results, taps, inner;
  std::vector<std::int32_t> first;  // of each result: the element that its first tap reads
  std::vector<float> weights;       // [taps, results]

  LineTable(const op::Resample::Taps& map, std::int64_t size, std::int64_t inner);
};
void gather_line(const LineTable& table, const float* x, float* result);

}  // namespace kiln::cpu::simd
