// Applies a band matrix to lines of elements.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "kiln/ops/spatial/resample_ops.hpp"

namespace kiln::cpu::simd {

/// One row of the band matrix: the weights of elements [begin, begin + count) of a line.
struct WeightedRow {
  const float* weights;
  std::int64_t begin, count;
};

/// result[i] = the sum over k of weights[k] * x[(begin + k) * inner + i], for i < inner.
void add_lines(const WeightedRow& row, const float* x, std::int64_t inner, float* result);

/// The matrix as a table for all results of a line at once, for an `inner` that is too small to fill vectors. Every
/// result has the same number of taps: results with fewer are padded with taps of weight 0.
struct LineTable {
  std::int64_t results, taps, inner;
  std::vector<std::int32_t> first;  // for each result, the element that its first tap reads
  std::vector<float> weights;       // [taps, results]

  LineTable(const op::Resample::Taps& map, std::int64_t size, std::int64_t inner);
};
void gather_line(const LineTable& table, const float* x, float* result);

}  // namespace kiln::cpu::simd
