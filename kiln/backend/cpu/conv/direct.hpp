// Convolutions of few channels with specialised loops: two axes, one group, a multiple of 8 channels of y, and weights
// that fit into the first-level cache.
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/conv/result.hpp"

namespace kiln::cpu::conv {

/// Computes y from x, both channels-last, with weight [out, in, kernel...] row-major and bias [out] or none.
void direct_conv(const Geometry& g, const Array& x, const ConvOperand& weight, const Array* bias, const ConvResult& y);
/// Computes the adjoint in x.
void direct_conv_data(const Geometry& g, const Array& y, const ConvOperand& weight, const ConvResult& x);
/// Computes the adjoint in the weight, [out, in, kernel...] row-major.
void direct_conv_weight(const Geometry& g, const Array& x, const Array& y, float* weight);

}  // namespace kiln::cpu::conv
