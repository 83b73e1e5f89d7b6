// Convolutions of 3 x 3 by Winograd's F(2 x 2, 3 x 3), which needs 2.25 times fewer multiplications: one group, stride
// 1, and multiples of 16 channels.
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/conv/result.hpp"

namespace kiln::cpu::conv {

/// Computes y, in channels-last order like x; bias [out] or null. Pieces of y are whole rows if `y` takes them one by
/// one.
void winograd_conv(const Geometry& g, const Array& x, const ConvOperand& weight, const float* bias,
                   const ConvResult& y);
/// Computes the adjoint in x.
void winograd_conv_data(const Geometry& g, const Array& y, const ConvOperand& weight, const ConvResult& x);

}  // namespace kiln::cpu::conv
