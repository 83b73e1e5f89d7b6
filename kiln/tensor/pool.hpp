// Pooling of [batch, channels, sizes...] in 1, 2 and 3 dimensions.
#pragma once
#include "kiln/tensor/tensor.hpp"

namespace kiln {

template <int D>
Tensor<D> max_pool(const Tensor<D>& x, const PoolOptions& options) {
  static_assert(3 <= D && D <= 5, "max_pool: [batch, channels, sizes...] with one to three sizes");
  return Typed{max_pool(x.value(), options)};
}

/// The indices count in the flattened sizes.
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

/// Windows of about equal size such that the result has `sizes`.
template <int D>
Tensor<D> adaptive_avg_pool(const Tensor<D>& x, const Spatial& sizes) {
  static_assert(3 <= D && D <= 5, "adaptive_avg_pool: [batch, channels, sizes...] with one to three sizes");
  return Typed{adaptive_avg_pool(x.value(), sizes)};
}

}  // namespace kiln
