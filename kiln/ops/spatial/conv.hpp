// Convolutions beyond those in functions.hpp: padding to the same size, deformable kernels, the windows themselves
// (im2col), gradients.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

/// Returns `options` with the padding under which a convolution of stride 1 keeps the sizes. Where the kernel's extent
/// is even, the padding after is one larger than before.
ConvOptions same_padding(const Spatial& kernel, ConvOptions options = {});

/// Convolution whose kernel reads at shifted positions (Dai et al., Deformable Convolutional Networks, 2017), scaled by
/// a mask (version 2) or not (no mask). x [batch, in, height, width], weight [out, in / groups, rows, columns], bias
/// [out] or none; offset [batch, 2 * parts * rows * columns, result height, result width] holds the vertical and
/// horizontal shift of each kernel element, for each part of the channels; mask
/// [batch, parts * rows * columns, result height, result width].
Value deform_conv2d(const Value& x, const Value& offset, const Value& weight, const Value& bias = {},
                    const Value& mask = {}, const ConvOptions& options = {});

/// The convolution of int8 or uint8 x and weight, with the shapes of conv, each minus its zero point: int32, whose sums
/// wrap around. A zero point is a tensor of its operand's type, of one element or, for the weight, of [out], or absent:
/// 0.
Value conv_integer(const Value& x, const Value& weight, const Value& x_zero = {}, const Value& weight_zero = {},
                   const ConvOptions& options = {});

/// One entry per spatial dimension; empty: 1, for padding 0.
struct UnfoldOptions {
  Spatial kernel{}, stride{}, padding{}, dilation{};
};
/// x [batch, channels, sizes...] -> [batch, channels * kernel elements, windows]: the elements that each window of a
/// convolution reads (im2col).
Value unfold(const Value& x, const UnfoldOptions& options);
/// The sum of such windows where they overlap: [batch, channels, sizes...] (col2im), the adjoint of unfold.
Value fold(const Value& columns, const Spatial& sizes, const UnfoldOptions& options);

/// [batch, channels * factor^n, sizes...] -> [batch, channels, sizes * factor...] with n spatial dimensions: channels
/// become positions (Shi et al., sub-pixel convolution, 2016).
Value pixel_shuffle(const Value& x, std::int64_t factor);
/// The reverse of pixel_shuffle.
Value pixel_unshuffle(const Value& x, std::int64_t factor);

// ---- gradients, for user-defined gradients ------------------------------------------------------------------------
/// The gradient of conv in x, whose spatial sizes are `sizes`.
Value conv_input_backward(const Value& gradient, const Value& weight, const Spatial& sizes,
                          const ConvOptions& options = {});
/// The gradient of conv in a weight with a kernel of this size.
Value conv_weight_backward(const Value& x, const Value& gradient, const Spatial& kernel,
                           const ConvOptions& options = {});

}  // namespace kiln
