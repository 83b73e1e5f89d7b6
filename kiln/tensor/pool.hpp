// Pooling of [batch, channels, sizes...] in 1, 2 and 3 dimensions.
#pragma once
#include "kiln/ops/spatial/pool.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

template <int D>
Tensor<D> max_pool(const Tensor<D>& x, const PoolOptions& options) {
  static_assert(3 <= D && D <= 5, "max_pool: [batch, channels, sizes...] with one to three sizes");
  return Typed{max_pool(x.value(), options)};
}

/// The indices count in the flattened spatial sizes.
template <int D>
TensorWithIndices<D, Float> max_pool_with_indices(const Tensor<D>& x, const PoolOptions& options) {
  static_assert(3 <= D && D <= 5, "max_pool: [batch, channels, sizes...] with one to three sizes");
  const MaxPoolResult result = max_pool_with_indices(x.value(), options);
  return ValueWithIndices{result.values, result.indices};
}

template <int D>
Tensor<D> avg_pool(const Tensor<D>& x, const PoolOptions& options) {
  static_assert(3 <= D && D <= 5, "avg_pool: [batch, channels, sizes...] with one to three sizes");
  return Typed{avg_pool(x.value(), options)};
}

/// Windows of nearly equal size such that the result has the sizes `sizes`.
template <int D>
Tensor<D> adaptive_avg_pool(const Tensor<D>& x, const Spatial& sizes) {
  static_assert(3 <= D && D <= 5, "adaptive_avg_pool: [batch, channels, sizes...] with one to three sizes");
  return Typed{adaptive_avg_pool(x.value(), sizes)};
}

template <int D>
Tensor<D> adaptive_max_pool(const Tensor<D>& x, const Spatial& sizes) {
  static_assert(3 <= D && D <= 5, "adaptive_max_pool: [batch, channels, sizes...] with one to three sizes");
  return Typed{adaptive_max_pool(x.value(), sizes)};
}

template <int D>
TensorWithIndices<D, Float> adaptive_max_pool_with_indices(const Tensor<D>& x, const Spatial& sizes) {
  static_assert(3 <= D && D <= 5, "adaptive_max_pool: [batch, channels, sizes...] with one to three sizes");
  const MaxPoolResult result = adaptive_max_pool_with_indices(x.value(), sizes);
  return ValueWithIndices{result.values, result.indices};
}

/// Zeros of the spatial `sizes` with x's elements at the positions in `indices`, which are max_pool's. Where several
/// elements have one position, the last one is taken. Throws IndexError.
template <int D>
Tensor<D> max_unpool(const Tensor<D>& x, const Tensor<D, Int>& indices, const Spatial& sizes) {
  static_assert(3 <= D && D <= 5, "max_unpool: [batch, channels, sizes...] with one to three sizes");
  return Typed{max_unpool(x.value(), indices.value(), sizes)};
}

/// The p-norm of each window: sum(|x|^p)^(1/p).
template <int D>
Tensor<D> lp_pool(const Tensor<D>& x, double p, const PoolOptions& options) {
  static_assert(3 <= D && D <= 5, "lp_pool: [batch, channels, sizes...] with one to three sizes");
  return Typed{lp_pool(x.value(), p, options)};
}

/// Windows of `kernel` at random positions such that the result has the sizes `sizes`, the same for all images and
/// channels.
template <int D>
Tensor<D> fractional_max_pool(const Tensor<D>& x, const Spatial& kernel, const Spatial& sizes,
                              std::optional<Key> key = {}) {
  static_assert(3 <= D && D <= 5, "fractional_max_pool: [batch, channels, sizes...] with one to three sizes");
  return Typed{fractional_max_pool(x.value(), kernel, sizes, key)};
}

/// The gradient in x, whose spatial sizes are `sizes`.
template <int D>
Tensor<D> max_pool_backward(const Tensor<D>& gradient, const Tensor<D, Int>& indices, const Spatial& sizes) {
  return Typed{max_pool_backward(gradient.value(), indices.value(), sizes)};
}
template <int D>
Tensor<D> avg_pool_backward(const Tensor<D>& gradient, const Spatial& sizes, const PoolOptions& options) {
  return Typed{avg_pool_backward(gradient.value(), sizes, options)};
}

}  // namespace kiln
