// The column reductions and elementwise steps of batch norm for contiguous channels. They work on some columns of rows
// that are `step` numbers apart.
#pragma once
#include <cstdint>

namespace kiln::cpu::simd {

/// The layout of columns: `rows` rows, `step` numbers apart, of which `count` adjacent columns are used.
struct Columns {
  std::int64_t step, rows, count;
};

/// The mean of each column as the sum of two floats. The rounding error of a single float may be larger than the
/// deviations of the numbers.
struct ColumnMeans {
  const float *number, *rest;
};

struct NormColumns {
  /// Computes the means, and the sums of squared distances to them, of at most a few hundred rows.
  void (*moments)(const float* x, const Columns& columns, float* means, float* rests, float* squares);
  /// z = (x - mean) * a + c
  void (*affine)(const float* x, const Columns& columns, const ColumnMeans& mean, const float* a, const float* c,
                 float* z);
  /// Computes the sums of g, of g * (x - mean) and of x - mean, of at most a few hundred rows.
  void (*products)(const float* g, const float* x, const Columns& columns, const float* mean, float* sums,
                   float* products, float* distances);
  /// z = a * g + b * (x - mean) + c
  void (*combine)(const float* g, const float* x, const Columns& columns, const ColumnMeans& mean, const float* a,
                  const float* b, const float* c, float* z);
};

/// Returns the functions for the instruction set of this machine. If columns are split over calls at multiples of 16,
/// the bits of a result do not depend on the split.
const NormColumns& norm_columns();

}  // namespace kiln::cpu::simd
