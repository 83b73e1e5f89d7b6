// Convolutions of few channels on loops of their own: of two axes, one group and a multiple of 8 channels of y, with weights that
// the first-level cache holds.
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/conv/result.hpp"

namespace kiln::cpu::conv {

/// x and y channels-last, weight [out, in, kernel...] row-major, bias [out] or none.
void direct_conv(const Geometry& g, const Array& x, const Operand& weight, const Array* bias, const ConvResult& y);
/// The adjoint in x.
void direct_conv_data(const Geometry& g, const Array& y, const Operand& weight, const ConvResult& x);
/// The adjoint in the weight, [out, in, kernel...] row-major.
void direct_conv_weight(const Geometry& g, const Array& x, const Array& y, float* weight);

}  // namespace kiln::cpu::conv
