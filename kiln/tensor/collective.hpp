// Collectives of ranks; ops/collective/collective.hpp has the contracts, kiln/collective the ranks.
#pragma once
#include "kiln/ops/collective/collective.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

template <int D, class K>
Tensor<D, K> all_reduce(const Tensor<D, K>& x, const Ranks& among, Combine how = Combine::Sum) {
  return Typed{all_reduce(x.value(), among, how)};
}
template <int D, class K>
Tensor<D, K> broadcast(const Tensor<D, K>& x, const Ranks& among, int root = 0) {
  return Typed{broadcast(x.value(), among, root)};
}
template <int D, class K>
requires(D >= 1) Tensor<D, K> all_gather(const Tensor<D, K>& x, const Ranks& among) {
  return Typed{all_gather(x.value(), among)};
}
template <int D, class K>
requires(D >= 1) Tensor<D, K> reduce_scatter(const Tensor<D, K>& x, const Ranks& among, Combine how = Combine::Sum) {
  return Typed{reduce_scatter(x.value(), among, how)};
}

}  // namespace kiln
