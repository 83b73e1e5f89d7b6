// Convolution in 1, 2 and 3 dimensions.
#pragma once
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

}  // namespace kiln
