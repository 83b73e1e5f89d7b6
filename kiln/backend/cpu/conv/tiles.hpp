// Convolutions of few pixels and many weights on the tiles of matrix products. In channels-last order what the kernel
// sees of one line of x lies side by side, and from one pixel of y to the next it moves by a fixed step: the windows of a
// line of pixels are rows of a left operand that lies in memory already, overlapping itself.
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/conv/result.hpp"

namespace kiln::cpu::conv {

/// Sums of so few terms cost little beside their result, and the pixels' numbers lie side by side as one long row.
inline constexpr std::int64_t kShortSum = 64;  // bench: sweep conv2d_1x1, ONNX MobileNetV2

/// y, in channels-last order like x; bias [out] or null.
void tiles_conv(const Geometry& g, const Array& x, const Operand& weight, const float* bias, const ConvResult& y);

}  // namespace kiln::cpu::conv
