// Convolutions each of whose channels has a kernel of its own. In channels-last order the channels of a pixel fill
// vectors, and all of a kernel's places do the same with them; in row-major order the pixels of a row do, and bringing
// channels side by side would take longer than the sums.
#pragma once
#include "kiln/backend/cpu/conv/depthwise_image.hpp"
#include "kiln/backend/cpu/conv/depthwise_plane.hpp"
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/conv/result.hpp"

namespace kiln::cpu::conv {

/// With leading axes of one place where there are fewer than three.
DepthwiseShape depthwise_shape(const Geometry& g);

/// x and y channels-last, weight [channels, 1, kernel...] row-major, bias [channels] or none.
void depthwise_conv(const Geometry& g, const Array& x, const Operand& weight, const Array* bias, const ConvResult& y);
/// The adjoint in x.
void depthwise_conv_data(const Geometry& g, const Array& y, const Operand& weight, const ConvResult& x);
/// The adjoint in the weight, row-major.
void depthwise_conv_weight(const Geometry& g, const Array& x, const Array& y, float* weight);

/// The sizes of a plane, for kernels of up to two axes.
PlaneShape plane_shape(Pass pass, const Geometry& g);

/// These take and return tensors in row-major order, for kernels of up to two axes.
void depthwise_planes(const Geometry& g, const Value& x, const Operand& weight, Value& y);
void depthwise_planes_data(const Geometry& g, const Value& y, const Operand& weight, Value& x);
void depthwise_planes_weight(const Geometry& g, const Array& x, const Array& y, float* weight);

}  // namespace kiln::cpu::conv
