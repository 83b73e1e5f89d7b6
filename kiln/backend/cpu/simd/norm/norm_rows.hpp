// The kernels of norms whose rows have contiguous runs. All but doubles are computed in single precision.
#pragma once
#include "kiln/backend/cpu/simd/norm/norm_plan.hpp"

namespace kiln::cpu::simd {

/// z = (x - mean) / sqrt(variance + epsilon) * weight + bias for rows [begin, end), of which x and z point to the
/// first. They may be the same memory. The rows' moments are stored unless `moments` is null. T is float or double.
template <class T>
struct NormForward {
  const T *x, *weight, *bias;
  T* z;
  Moments* moments = nullptr;
};
void normalise_rows(const NormPlan& plan, const NormForward<float>& call, std::int64_t begin, std::int64_t end);
void normalise_rows(const NormPlan& plan, const NormForward<double>& call, std::int64_t begin, std::int64_t end);

/// The gradient of that for rows [begin, end) from g, that of z. All pointers but `weight`, `dweight` and `dbias` point
/// to what belongs to row 0. dx is written; what the rows contribute is added to dweight and dbias.
struct NormBackward {
  const float *x, *g, *weight;
  float *dx, *dweight, *dbias;
  const float *means = nullptr, *variances = nullptr;  // of the rows, rounded; computed if they are null
};
void norm_gradient_rows(const NormPlan& plan, const NormBackward& call, std::int64_t begin, std::int64_t end);

}  // namespace kiln::cpu::simd
