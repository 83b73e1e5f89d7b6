// Normalisations with parameters, and dropout.
#pragma once
#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// Over the trailing dimensions that weight and bias have.
template <int D, int E>
Tensor<D> layer_norm(const Tensor<D>& x, const Tensor<E>& weight, const Tensor<E>& bias, double epsilon = 1e-5) {
  static_assert(1 <= E && E <= D, "layer_norm: weight and bias have the trailing dimensions of x");
  return Typed{layer_norm(x.value(), weight.value(), bias.value(), epsilon)};
}

/// Zeroes elements with the probability given and scales the others by 1 / (1 - probability).
template <int D>
Tensor<D> dropout(const Tensor<D>& x, double probability, std::optional<Key> key = {}) {
  return Typed{dropout(x.value(), probability, key)};
}

}  // namespace kiln
