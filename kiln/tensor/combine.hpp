// Indexed writes that combine several elements at one position, and writes to views; ops/index/index.hpp has the
// contracts.
#pragma once
#include "kiln/ops/index/index.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// x with the elements that gather() with the same index would read combined with source; without `with_self`, replaced
/// by it.
template <int D, class K>
Tensor<D, K> scatter_reduce(const Tensor<D, K>& x, Dim dim, const Tensor<D, Int>& index, const Tensor<D, K>& source,
                            Combine how, bool with_self = true) {
  return Typed{scatter_reduce(x.value(), dim, index.value(), source.value(), how, with_self)};
}
/// scatter_reduce for the slices that index_select() would read.
template <int D, class K>
Tensor<D, K> index_reduce(const Tensor<D, K>& x, Dim dim, const Tensor<1, Int>& index, const Tensor<D, K>& source,
                          Combine how, bool with_self = true) {
  return Typed{index_reduce(x.value(), dim, index.value(), source.value(), how, with_self)};
}
/// x with slice `index` of `dim`, with the slices in `range`, or with a diagonal replaced by source.
template <int D, class K>
Tensor<D, K> select_scatter(const Tensor<D, K>& x, const Tensor<D - 1, K>& source, Dim dim, std::int64_t index) {
  return Typed{select_scatter(x.value(), source.value(), dim, index)};
}
template <int D, class K>
Tensor<D, K> slice_scatter(const Tensor<D, K>& x, const Tensor<D, K>& source, Dim dim, const Range& range = {}) {
  return Typed{slice_scatter(x.value(), source.value(), dim, range)};
}
template <int D, class K>
requires(D >= 2) Tensor<D, K> diagonal_scatter(const Tensor<D, K>& x, const Tensor<D - 1, K>& source,
                                               std::int64_t offset = 0, Dim dim1 = -2, Dim dim2 = -1) {
  return Typed{diagonal_scatter(x.value(), source.value(), offset, dim1, dim2)};
}

}  // namespace kiln
