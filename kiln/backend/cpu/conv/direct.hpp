// Convolutions of few channels on loops of their own, where oneDNN's register blocks stay half empty.
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/conv/result.hpp"

namespace kiln::cpu::conv {

/// Our own loops take the case and are faster than oneDNN's.
bool direct_forward_fits(const Geometry& g, DType dtype);
bool direct_data_fits(const Geometry& g, DType dtype);
bool direct_weight_fits(const Geometry& g, DType dtype);

/// x and y channels-last, weight [out, in, kernel...] row-major, bias [out] or none.
void direct_conv(const Geometry& g, const Array& x, const Operand& weight, const Array* bias, const ConvResult& y);
/// The adjoint in x.
void direct_conv_data(const Geometry& g, const Array& y, const Operand& weight, const ConvResult& x);
/// The adjoint in the weight, [out, in, kernel...] row-major.
void direct_conv_weight(const Geometry& g, const Array& x, const Array& y, float* weight);

}  // namespace kiln::cpu::conv
