// Tensors from plain numbers. The rank comes from the braces: zeros({2, 3}, device) is a Tensor<2>; for a shape that is
// known at run time there is Tensor<2>::zeros(shape, device). The kind is Float unless told: zeros<Int>({2, 3}, device).
#pragma once
#include "kiln/tensor/tensor.hpp"

namespace kiln {

template <std::size_t N>
using Sizes = const std::int64_t (&)[N];

template <class K = Float, std::size_t D>
Tensor<D, K> full(Sizes<D> shape, typename K::Literal value, const Device& device, DType dtype = K::kDefault) {
  return Typed{full(Shape(shape, shape + D), value, device, dtype)};
}
template <class K = Float, std::size_t D>
Tensor<D, K> zeros(Sizes<D> shape, const Device& device, DType dtype = K::kDefault) {
  return Typed{zeros(Shape(shape, shape + D), device, dtype)};
}
template <class K = Float, std::size_t D>
Tensor<D, K> ones(Sizes<D> shape, const Device& device, DType dtype = K::kDefault) {
  return Typed{ones(Shape(shape, shape + D), device, dtype)};
}
template <int D, class K>
Tensor<D, K> full_like(const Tensor<D, K>& x, typename K::Literal value) {
  return Typed{full(x.shape(), value, x.device(), x.dtype())};
}
template <int D, class K>
Tensor<D, K> zeros_like(const Tensor<D, K>& x) {
  return Typed{zeros_like(x.value())};
}
template <int D, class K>
Tensor<D, K> ones_like(const Tensor<D, K>& x) {
  return Typed{ones_like(x.value())};
}

/// 0, 1, ... up to but without `end`; Int or Float as the numbers are.
template <Number N>
Tensor<1, KindOf<N>> arange(N end, const Device& device, DType dtype = KindOf<N>::kDefault) {
  return Typed{arange(N{0}, end, N{1}, device, dtype)};
}
/// start, start + step, ... up to but without `end`.
template <Number N>
Tensor<1, KindOf<N>> arange(N start, N end, const Device& device, DType dtype = KindOf<N>::kDefault) {
  return Typed{arange(start, end, N{1}, device, dtype)};
}
template <Number N>
Tensor<1, KindOf<N>> arange(N start, N end, N step, const Device& device, DType dtype = KindOf<N>::kDefault) {
  return Typed{arange(Scalar(start), Scalar(end), Scalar(step), device, dtype)};
}

/// [count]: from `start` to `end`, both included, in equal steps.
Tensor<1> linspace(double start, double end, std::int64_t count, const Device& device, DType dtype = DType::F32);
/// [size, size] with ones on the diagonal.
Tensor<2> eye(std::int64_t size, const Device& device, DType dtype = DType::F32);

// ---- random: from the device's stream, or from `key` ----------------------------------------------------------------
/// Mean 0, variance 1.
template <std::size_t D>
Tensor<D> randn(Sizes<D> shape, const Device& device, std::optional<Key> key = {}) {
  return Typed{normal(Shape(shape, shape + D), 0, 1, device, DType::F32, key)};
}
template <std::size_t D>
Tensor<D> normal(Sizes<D> shape, double mean, double deviation, const Device& device, std::optional<Key> key = {}) {
  return Typed{normal(Shape(shape, shape + D), mean, deviation, device, DType::F32, key)};
}
/// [low, high)
template <std::size_t D>
Tensor<D> uniform(Sizes<D> shape, double low, double high, const Device& device, std::optional<Key> key = {}) {
  return Typed{uniform(Shape(shape, shape + D), low, high, device, DType::F32, key)};
}
/// 1 with the probability given, else 0.
template <std::size_t D>
Tensor<D> bernoulli(Sizes<D> shape, double probability, const Device& device, std::optional<Key> key = {}) {
  return Typed{bernoulli(Shape(shape, shape + D), probability, device, DType::F32, key)};
}
template <int D>
Tensor<D> randn_like(const Tensor<D>& x, std::optional<Key> key = {}) {
  return Typed{normal(x.shape(), 0, 1, x.device(), x.dtype(), key)};
}
template <int D>
Tensor<D> uniform_like(const Tensor<D>& x, double low, double high, std::optional<Key> key = {}) {
  return Typed{uniform(x.shape(), low, high, x.device(), x.dtype(), key)};
}

}  // namespace kiln
