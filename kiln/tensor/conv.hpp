// Convolution in 1, 2 and 3 dimensions, and the windows that kernels read.
#pragma once
#include "kiln/ops/spatial/conv.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// x [batch, in, sizes...], weight [out, in / groups, kernel...], bias [out] or none -> [batch, out, sizes...]
template <int D>
Tensor<D> conv(const Tensor<D>& x, const Tensor<D>& weight, const Tensor<1>& bias = {},
               const ConvOptions& options = {}) {
  static_assert(3 <= D && D <= 5, "conv: [batch, channels, sizes...] with one to three sizes");
  return Typed{conv(x.value(), weight.value(), bias.value(), options)};
}

/// x [batch, in, sizes...], weight [in, out / groups, kernel...], bias [out] or none -> [batch, out, sizes...]
template <int D>
Tensor<D> conv_transpose(const Tensor<D>& x, const Tensor<D>& weight, const Tensor<1>& bias = {},
                         const ConvOptions& options = {}, const Spatial& result_padding = {}) {
  static_assert(3 <= D && D <= 5, "conv_transpose: [batch, channels, sizes...] with one to three sizes");
  return Typed{conv_transpose(x.value(), weight.value(), bias.value(), options, result_padding)};
}

/// x [batch, in, height, width], offset [batch, 2 * parts * kernel elements, result height, result width] (vertical and
/// horizontal), weight [out, in / groups, rows, columns], bias [out] or none, mask
/// [batch, parts * kernel elements, ...] or none -> [batch, out, result height, result width].
inline Tensor<4> deform_conv2d(const Tensor<4>& x, const Tensor<4>& offset, const Tensor<4>& weight,
                               const Tensor<1>& bias = {}, const Tensor<4>& mask = {},
                               const ConvOptions& options = {}) {
  return Typed{deform_conv2d(x.value(), offset.value(), weight.value(), bias.value(), mask.value(), options)};
}

/// The elements that each window reads: [batch, channels * kernel elements, windows] (im2col).
template <int D, class K>
Tensor<3, K> unfold(const Tensor<D, K>& x, const UnfoldOptions& options) {
  static_assert(3 <= D && D <= 5, "unfold: [batch, channels, sizes...] with one to three sizes");
  return Typed{unfold(x.value(), options)};
}
/// The sum of such windows where they overlap (col2im): fold<4>(columns, {height, width}, options).
template <int D, class K>
Tensor<D, K> fold(const Tensor<3, K>& columns, const Spatial& sizes, const UnfoldOptions& options) {
  static_assert(3 <= D && D <= 5, "fold: [batch, channels, sizes...] with one to three sizes");
  return Typed{fold(columns.value(), sizes, options)};
}

/// [batch, channels * factor^n, sizes...] -> [batch, channels, sizes * factor...] with n sizes.
template <int D, class K>
Tensor<D, K> pixel_shuffle(const Tensor<D, K>& x, std::int64_t factor) {
  static_assert(3 <= D && D <= 5, "pixel_shuffle: [batch, channels, sizes...] with one to three sizes");
  return Typed{pixel_shuffle(x.value(), factor)};
}
template <int D, class K>
Tensor<D, K> pixel_unshuffle(const Tensor<D, K>& x, std::int64_t factor) {
  static_assert(3 <= D && D <= 5, "pixel_unshuffle: [batch, channels, sizes...] with one to three sizes");
  return Typed{pixel_unshuffle(x.value(), factor)};
}

/// The gradient of conv in x, whose spatial sizes are `sizes`, and in a weight with a kernel of that size.
template <int D>
Tensor<D> conv_input_backward(const Tensor<D>& gradient, const Tensor<D>& weight, const Spatial& sizes,
                              const ConvOptions& options = {}) {
  return Typed{conv_input_backward(gradient.value(), weight.value(), sizes, options)};
}
template <int D>
Tensor<D> conv_weight_backward(const Tensor<D>& x, const Tensor<D>& gradient, const Spatial& kernel,
                               const ConvOptions& options = {}) {
  return Typed{conv_weight_backward(x.value(), gradient.value(), kernel, options)};
}

}  // namespace kiln
