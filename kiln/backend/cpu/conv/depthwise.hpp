// Depthwise convolutions: each channel has its own kernel. In channels-last order the channels of a pixel fill vectors,
// and every tap of the kernel treats them alike. In row-major order the pixels of a row fill vectors, since reordering
// the channels would take longer than the sums.
#pragma once
#include "kiln/backend/cpu/conv/depthwise_image.hpp"
#include "kiln/backend/cpu/conv/depthwise_plane.hpp"
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/conv/result.hpp"

namespace kiln::cpu::conv {

/// Returns the geometry with leading axes of size 1 if it has fewer than three.
DepthwiseShape depthwise_shape(const Geometry& g);

/// Computes y from x, both channels-last, with weight [channels, 1, kernel...] row-major and bias [channels] or none.
void depthwise_conv(const Geometry& g, const Array& x, const ConvOperand& weight, const Array* bias,
                    const ConvResult& y);
/// Computes the adjoint in x.
void depthwise_conv_data(const Geometry& g, const Array& y, const ConvOperand& weight, const ConvResult& x);
/// Computes the adjoint in the weight, row-major.
void depthwise_conv_weight(const Geometry& g, const Array& x, const Array& y, float* weight);

/// The sizes of a plane, for kernels of up to two axes.
PlaneShape plane_shape(Pass pass, const Geometry& g);

/// These functions take and return tensors in row-major order, for kernels of up to two axes.
void depthwise_planes(const Geometry& g, const Value& x, const ConvOperand& weight, Value& y);
void depthwise_planes_data(const Geometry& g, const Value& y, const ConvOperand& weight, Value& x);
void depthwise_planes_weight(const Geometry& g, const Array& x, const Array& y, float* weight);

}  // namespace kiln::cpu::conv
