// Batch norm in single precision of columns: the channels of [rows, channels] are contiguous.
#pragma once
#include "kiln/backend/cpu/simd/norm/norm_plan.hpp"

namespace kiln::cpu::simd {

/// Computes z, and the mean and variance of each channel.
void normalise_columns(const NormPlan& plan, const float* x, const float* weight, const float* bias, float* z,
                       float* means, float* variances);

/// The operands of the gradient and its results. g is the gradient of z.
struct ColumnGradient {
  const float *x, *g, *weight, *means, *variances;
  float *dx, *dweight, *dbias;
};
void norm_gradient_columns(const NormPlan& plan, const ColumnGradient& call);

}  // namespace kiln::cpu::simd
