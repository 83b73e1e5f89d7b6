// The algorithms that conv.cpp calls. Operands and results without a further word are in channels-last order, weights
// [out, in, kernel...] in row-major order, and a bias is [out] or null.
#pragma once
#include "kiln/backend/cpu/conv/depthwise_image.hpp"
#include "kiln/backend/cpu/conv/depthwise_plane.hpp"
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/conv/result.hpp"

namespace kiln::cpu::conv {

// Convolutions of few channels have specialised loops: two axes, one group, a multiple of 8 channels of y, and weights
// that fit into the first-level cache.

void direct_conv(const Geometry& g, const Array& x, const ConvOperand& weight, const Array* bias, const ConvResult& y);
/// Computes the adjoint in x.
void direct_conv_data(const Geometry& g, const Array& y, const ConvOperand& weight, const ConvResult& x);
/// Computes the adjoint in the weight.
void direct_conv_weight(const Geometry& g, const Array& x, const Array& y, float* weight);

// Depthwise convolutions: each channel has its own kernel, [channels, 1, kernel...]. In channels-last order the channels
// of a pixel fill vectors, and every tap of the kernel treats them alike. In row-major order the pixels of a row fill
// vectors, since reordering the channels would take longer than the sums.

void depthwise_conv(const Geometry& g, const Array& x, const ConvOperand& weight, const Array* bias,
                    const ConvResult& y);
void depthwise_conv_data(const Geometry& g, const Array& y, const ConvOperand& weight, const ConvResult& x);
void depthwise_conv_weight(const Geometry& g, const Array& x, const Array& y, float* weight);

/// The sizes of a plane, for kernels of up to two axes.
PlaneShape plane_shape(Pass pass, const Geometry& g);

/// These functions take and return tensors in row-major order, for kernels of up to two axes.
void depthwise_planes(const Geometry& g, const Value& x, const ConvOperand& weight, Value& y);
void depthwise_planes_data(const Geometry& g, const Value& y, const ConvOperand& weight, Value& x);
void depthwise_planes_weight(const Geometry& g, const Array& x, const Array& y, float* weight);

// Convolutions of 3 x 3 by Winograd's F(2 x 2, 3 x 3), which needs 2.25 times fewer multiplications: one group, stride
// 1, and multiples of 16 channels. Pieces of y are whole rows if `y` takes them one by one.

void winograd_conv(const Geometry& g, const Array& x, const ConvOperand& weight, const float* bias,
                   const ConvResult& y);
void winograd_conv_data(const Geometry& g, const Array& y, const ConvOperand& weight, const ConvResult& x);

// Convolutions of few pixels and many weights on the tiles of matrix products. In channels-last order the part of a
// line of x that a kernel line covers is contiguous, and it moves by a fixed step from one pixel of y to the next: the
// windows of a line of pixels are the rows of a left operand in memory that overlaps itself.

/// Sums of at most so many terms cost little compared with storing their result, and the pixels' numbers are contiguous
/// as one long row.
inline constexpr std::int64_t kShortSum = 64;  // bench: sweep conv2d_1x1, ONNX MobileNetV2

void tiles_conv(const Geometry& g, const Array& x, const ConvOperand& weight, const float* bias, const ConvResult& y);
/// Computes the gradient of a weight: for each tap of the kernel, the transposed pixels of y times the pixels of x under
/// them, which are contiguous runs.
void weight_tiles(const Geometry& g, const Array& x, const Array& y, float* weight);

// Convolutions as matrix products. A kernel of one pixel is a product of pixels and channels without any copy. For few
// pixels and many weights, oneDNN takes longer to reorder the weights than to multiply: there the windows are gathered,
// and the weights are read as they are. All functions take one group of float32 or float64. The adjoints of kernels of
// one pixel take bfloat16 too.

void windows_conv(const Geometry& g, const ConvOperand& x, const ConvOperand& weight, const Array* bias, Value& y);
void windows_conv_data(const Geometry& g, const ConvOperand& y, const ConvOperand& weight, Value& x);
void windows_conv_weight(const Geometry& g, const ConvOperand& x, const ConvOperand& y, Value& weight);
/// Computes y of one channel without bias as a sum of the planes of x, which is contiguous in row-major order.
void plane_sum(const Geometry& g, const Value& x, const ConvOperand& weight, Value& y);

}  // namespace kiln::cpu::conv
