// Activation functions with options or of several elements; the others are methods of Tensor: x.gelu(). Contracts are
// in ops/elementwise/activation.hpp.
#pragma once
#include "kiln/ops/elementwise/activation.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// x, or weight * x where x is negative; one weight, or one for each element of dimension 1.
template <int D>
Tensor<D> prelu(const Tensor<D>& x, const Tensor<1>& weight) {
  return Typed{prelu(x.value(), weight.value())};
}
template <int D>
Tensor<D> hardtanh(const Tensor<D>& x, double low = -1, double high = 1) {
  return Typed{hardtanh(x.value(), low, high)};
}
/// scale * x + offset clamped to [0, 1]. x.hard_sigmoid() uses 1/6 and 1/2.
template <int D>
Tensor<D> hard_sigmoid(const Tensor<D>& x, double scale, double offset) {
  return Typed{hard_sigmoid(x.value(), scale, offset)};
}
/// log(1 + exp(beta x)) / beta, and x itself where beta x is above `threshold`.
template <int D>
Tensor<D> softplus(const Tensor<D>& x, double beta, double threshold = 20) {
  return Typed{softplus(x.value(), beta, threshold)};
}
/// x, or `value` where x is not above `limit`.
template <int D>
Tensor<D> threshold(const Tensor<D>& x, double limit, double value) {
  return Typed{threshold(x.value(), limit, value)};
}
template <int D>
Tensor<D> shrink(const Tensor<D>& x, double bound = 0.5, double bias = 0) {
  return Typed{shrink(x.value(), bound, bias)};
}
/// a * sigmoid(b) of the two halves of x along `dim`.
template <int D>
Tensor<D> glu(const Tensor<D>& x, Dim dim = -1) {
  return Typed{glu(x.value(), dim)};
}

template <int D>
Tensor<D> softmax(const Tensor<D>& x, Dim dim) {
  return x.softmax(dim);
}
template <int D>
Tensor<D> log_softmax(const Tensor<D>& x, Dim dim) {
  return x.log_softmax(dim);
}
template <int D>
Tensor<D> softmin(const Tensor<D>& x, Dim dim) {
  return Typed{softmin(x.value(), dim)};
}
/// exp(x) / (1 + sum of exp(x))
template <int D>
Tensor<D> quiet_softmax(const Tensor<D>& x, Dim dim) {
  return Typed{quiet_softmax(x.value(), dim)};
}

}  // namespace kiln
