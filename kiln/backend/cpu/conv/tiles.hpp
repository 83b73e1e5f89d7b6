// Convolutions of few pixels and many weights on the tiles of matrix products. In channels-last order the part of a
// line of x that a kernel line covers is contiguous, and it moves by a fixed step from one pixel of y to the next: the
// windows of a line of pixels are the rows of a left operand in memory that overlaps itself.
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/conv/result.hpp"

namespace kiln::cpu::conv {

/// Sums of at most so many terms cost little compared with storing their result, and the pixels' numbers are contiguous
/// as one long row.
inline constexpr std::int64_t kShortSum = 64;  // bench: sweep conv2d_1x1, ONNX MobileNetV2

/// Computes y, in channels-last order like x; bias [out] or null.
void tiles_conv(const Geometry& g, const Array& x, const ConvOperand& weight, const float* bias, const ConvResult& y);

}  // namespace kiln::cpu::conv
