// What batch norm does with numbers whose channels lie side by side: some columns of rows that lie `step` numbers apart.
#pragma once
#include <cstdint>

namespace kiln::cpu::simd {

/// Where columns lie.
struct Columns {
  std::int64_t step, rows, count;
};

/// A mean of each column as two floats: what the first leaves of it may be more than the numbers vary by.
struct ColumnMeans {
  const float *number, *rest;
};

struct NormColumns {
  /// Means, and sums of squared distances to them. Of a few hundred rows.
  void (*moments)(const float* x, const Columns& columns, float* means, float* rests, float* squares);
  /// z = (x - mean) * a + c
  void (*affine)(const float* x, const Columns& columns, const ColumnMeans& mean, const float* a, const float* c,
                 float* z);
  /// Sums of g, of g * (x - mean) and of x - mean. Of a few hundred rows.
  void (*products)(const float* g, const float* x, const Columns& columns, const float* mean, float* sums,
                   float* products, float* distances);
  /// z = a * g + b * (x - mean) + c
  void (*combine)(const float* g, const float* x, const Columns& columns, const ColumnMeans& mean, const float* a,
                  const float* b, const float* c, float* z);
};

/// For the machine at hand. Columns that begin at a multiple of 16 are all computed alike, wherever others end.
const NormColumns& norm_columns();

}  // namespace kiln::cpu::simd
