// Putting tensors together.
#pragma once
#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// cat({a, b}, 0): one after the other along `dim`.
template <int D, class K>
Tensor<D, K> cat(std::initializer_list<Tensor<D, K>> parts, int dim = 0) {
  return Typed{cat(Values(parts.begin(), parts.end()), dim)};
}
template <int D, class K>
Tensor<D, K> cat(const std::vector<Tensor<D, K>>& parts, int dim = 0) {
  return Typed{cat(Values(parts.begin(), parts.end()), dim)};
}

/// stack({a, b}, 0): side by side along a new dimension.
template <int D, class K>
Tensor<D + 1, K> stack(std::initializer_list<Tensor<D, K>> parts, int dim = 0) {
  return Typed{stack(Values(parts.begin(), parts.end()), dim)};
}
template <int D, class K>
Tensor<D + 1, K> stack(const std::vector<Tensor<D, K>>& parts, int dim = 0) {
  return Typed{stack(Values(parts.begin(), parts.end()), dim)};
}

}  // namespace kiln
