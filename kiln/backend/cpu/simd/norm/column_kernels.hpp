// The column reductions and elementwise steps of norms of columns.
#pragma once
#include <cstdint>

namespace kiln::cpu::simd {

inline constexpr std::int64_t kRowsOfBlock = 64;  // so few that their float sums are exact enough
inline constexpr std::int64_t kMostColumns = 64;  // so few that a block stays in the first-level cache

/// Rows [begin, begin + rows) of `count` columns from `first` on; rows are `step` numbers apart.
struct ColumnBlock {
  std::int64_t begin, rows, first, count, step;
  std::int64_t at() const { return begin * step + first; }
};

/// The coefficients of the columns in a linear function of x - mean: z = a * g + b * (x - mean - rest) + c.
struct ColumnTerms {
  const float *means, *rests, *a, *b, *c;
};

/// The kernels for the instruction set of a machine. Blocks have at most kRowsOfBlock rows and kMostColumns columns.
struct ColumnKernels {
  /// The means, and the sums of squared distances to them.
  void (*moments)(const float* x, const ColumnBlock& block, float* means, float* rests, float* squares);
  /// The sums of g, of g * (x - mean) and of x - mean, one after the other in `sums`, kMostColumns of each.
  void (*products)(const float* g, const float* x, const ColumnBlock& block, const float* means, float* sums);
  /// z = a * g + b * (x - mean) + c; without g if it is null.
  void (*combine)(const float* g, const float* x, const ColumnBlock& block, const ColumnTerms& terms, float* z);
};

const ColumnKernels& column_kernels();

}  // namespace kiln::cpu::simd
