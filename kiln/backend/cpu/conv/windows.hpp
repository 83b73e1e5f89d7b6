// Convolutions as matrix products. A kernel of one pixel is a product of pixels and channels as they lie. Where there are
// few pixels for many weights, what oneDNN spends on bringing the weights into its own order outweighs the work itself:
// there the windows are gathered, and the weights are used as they lie.
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/conv/operand.hpp"

namespace kiln::cpu::conv {

/// The convolution, its adjoint in x or that in the weight is faster so.
bool product_forward_fits(const Geometry& g, DType dtype);
bool product_data_fits(const Geometry& g, DType dtype);
bool product_weight_fits(const Geometry& g, DType dtype);

/// They can compute it at all, fast or not: for where oneDNN has nothing. Of halves only what oneDNN multiplies.
bool product_can(const Geometry& g, DType dtype);

/// y from x; bias [out] or none.
bool product_conv(const Geometry& g, const Operand& x, const Operand& weight, const Array* bias, Value& y);
/// The same without bias where one channel is a sum of the planes of x, each without gaps; false where it is not.
bool planes_conv(const Geometry& g, const Value& x, const Operand& weight, Value& y);
/// The adjoint in x.
bool product_conv_data(const Geometry& g, const Operand& y, const Operand& weight, Value& x);
/// The adjoint in the weight.
bool product_conv_weight(const Geometry& g, const Operand& x, const Operand& y, Value& weight);

}  // namespace kiln::cpu::conv
