// Convolutions as matrix products. A kernel of one pixel is a product of pixels and channels without any copy. For few
// pixels and many weights, oneDNN takes longer to reorder the weights than to multiply: there the windows are gathered,
// and the weights are read as they are.
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/conv/operand.hpp"

namespace kiln::cpu::conv {

// All functions take one group of float32 or float64. The adjoints of kernels of one pixel take bfloat16 too.

/// Computes y from x; bias [out] or null.
void windows_conv(const Geometry& g, const ConvOperand& x, const ConvOperand& weight, const Array* bias, Value& y);
/// Computes y of one channel without bias as a sum of the planes of x, which is contiguous in row-major order.
void plane_sum(const Geometry& g, const Value& x, const ConvOperand& weight, Value& y);
/// Computes the adjoint in x.
void windows_conv_data(const Geometry& g, const ConvOperand& y, const ConvOperand& weight, Value& x);
/// Computes the adjoint in the weight.
void windows_conv_weight(const Geometry& g, const ConvOperand& x, const ConvOperand& y, Value& weight);

}  // namespace kiln::cpu::conv
