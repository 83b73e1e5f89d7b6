// Tensors from plain numbers. The rank comes from the braces: zeros({2, 3}, device) is a Tensor<2>; for a shape that is
// known at run time there is Tensor<2>::zeros(shape, device). The kind is Float by default; zeros<Int>({2, 3}, device).
#pragma once
#include "kiln/ops/create/create.hpp"
#include "kiln/tensor/random.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

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
/// A tensor to be filled later; it holds zeros until then.
template <class K = Float, std::size_t D>
Tensor<D, K> empty(Sizes<D> shape, const Device& device, DType dtype = K::kDefault) {
  return Typed{empty(Shape(shape, shape + D), device, dtype)};
}
// ---- of rank 0: zeros({}, device) ------------------------------------------------------------------------------------
template <class K = Float>
Tensor<0, K> full(NoSizes, typename K::Literal value, const Device& device, DType dtype = K::kDefault) {
  return Tensor<0, K>::full(Shape(), value, device, dtype);
}
template <class K = Float>
Tensor<0, K> zeros(NoSizes, const Device& device, DType dtype = K::kDefault) {
  return Tensor<0, K>::zeros(Shape(), device, dtype);
}
template <class K = Float>
Tensor<0, K> ones(NoSizes, const Device& device, DType dtype = K::kDefault) {
  return Tensor<0, K>::ones(Shape(), device, dtype);
}
template <class K = Float>
Tensor<0, K> empty(NoSizes, const Device& device, DType dtype = K::kDefault) {
  return zeros<K>({}, device, dtype);
}

// ---- like another ----------------------------------------------------------------------------------------------------
template <int D, class K>
Tensor<D, K> empty_like(const Tensor<D, K>& x) {
  return Typed{empty_like(x.value())};
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

/// start, start + step, ... up to but without `end`; Int or Float like the numbers. Starts at 0 in steps of 1 by
/// default.
template <Number N>
Tensor<1, KindOf<N>> arange(N start, N end, N step, const Device& device, DType dtype = KindOf<N>::kDefault) {
  return Typed{arange(Scalar(start), Scalar(end), Scalar(step), device, dtype)};
}
template <Number N>
Tensor<1, KindOf<N>> arange(N end, const Device& device, DType dtype = KindOf<N>::kDefault) {
  return arange(N{0}, end, N{1}, device, dtype);
}
template <Number N>
Tensor<1, KindOf<N>> arange(N start, N end, const Device& device, DType dtype = KindOf<N>::kDefault) {
  return arange(start, end, N{1}, device, dtype);
}

/// [count]: from `start` to `end`, both included, in equal steps.
inline Tensor<1> linspace(double start, double end, std::int64_t count, const Device& device,
                          DType dtype = DType::F32) {
  return Typed{linspace(Scalar(start), Scalar(end), count, device, dtype)};
}
/// [count]: base^start to base^end, both included, in equal ratios.
inline Tensor<1> logspace(double start, double end, std::int64_t count, const Device& device, double base = 10,
                          DType dtype = DType::F32) {
  return Typed{logspace(Scalar(start), Scalar(end), count, device, base, dtype)};
}
/// [rows, columns] with ones on the diagonal.
inline Tensor<2> eye(std::int64_t rows, std::int64_t columns, const Device& device, DType dtype = DType::F32) {
  return Typed{eye(Shape{rows, columns}, device, dtype)};
}
inline Tensor<2> eye(std::int64_t size, const Device& device, DType dtype = DType::F32) {
  return eye(size, size, device, dtype);
}

}  // namespace kiln
