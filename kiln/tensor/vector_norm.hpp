// Lengths of vectors, norms of matrices, distances; ops/linalg/vector_norm.hpp has the contracts.
#pragma once
#include "kiln/ops/linalg/vector_norm.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// vector_norm(x, p) over all elements, vector_norm(x, p, 0, -1) over some dimensions; vector_norm(keep, x, p, -1)
/// keeps them with size 1.
template <int D, class K, Integer... Dim>
Tensor<(sizeof...(Dim) == 0 ? 0 : D - static_cast<int>(sizeof...(Dim)))> vector_norm(const Tensor<D, K>& x,
                                                                                     double p = 2, Dim... dims) {
  return Typed{vector_norm(x.value(), p, dims_or_all({dims...}, D))};
}
template <int D, class K, Integer... Dim>
Tensor<D> vector_norm(Keep, const Tensor<D, K>& x, double p = 2, Dim... dims) {
  return Typed{vector_norm(x.value(), p, dims_or_all({dims...}, D), true)};
}
template <int D, class K>
Tensor<D - 1> lp_norm(const Tensor<D, K>& x, double p, Dim dim) {
  return Typed{lp_norm(x.value(), p, dim)};
}
/// Counts the elements that are not zero.
template <int D, class K>
Tensor<D - 1> l0_norm(const Tensor<D, K>& x, Dim dim) {
  return Typed{l0_norm(x.value(), dim)};
}
template <int D, class K>
Tensor<D - 1> l1_norm(const Tensor<D, K>& x, Dim dim) {
  return Typed{l1_norm(x.value(), dim)};
}
template <int D, class K>
Tensor<D - 1> l2_norm(const Tensor<D, K>& x, Dim dim) {
  return Typed{l2_norm(x.value(), dim)};
}
template <int D, class K>
Tensor<D - 1> max_abs_norm(const Tensor<D, K>& x, Dim dim) {
  return Typed{max_abs_norm(x.value(), dim)};
}
template <int D, class K>
Tensor<D - 1> min_abs_norm(const Tensor<D, K>& x, Dim dim) {
  return Typed{min_abs_norm(x.value(), dim)};
}
template <int D, class K>
Tensor<D> vector_normalize(const Tensor<D, K>& x, double p = 2, Dim dim = -1, double epsilon = 1e-12) {
  return Typed{vector_normalize(x.value(), p, dim, epsilon)};
}
template <int D, class K>
requires(D >= 2) Tensor<D - 2> matrix_norm(const Tensor<D, K>& a, MatrixNorm norm = MatrixNorm::Frobenius) {
  return Typed{matrix_norm(a.value(), norm)};
}

template <int D, int E, class K, class L>
Tensor<(D < E ? E : D) - 1> cosine_similarity(const Tensor<D, K>& x, const Tensor<E, L>& y, Dim dim = -1,
                                              double epsilon = 1e-8) {
  return Typed{cosine_similarity(x.value(), y.value(), dim, epsilon)};
}
template <int D, int E, class K, class L>
Tensor<(D < E ? E : D) - 1> pairwise_distance(const Tensor<D, K>& x, const Tensor<E, L>& y, double p = 2) {
  return Typed{pairwise_distance(x.value(), y.value(), p)};
}
template <int D, int E, class K, class L>
requires(D >= 2 && E >= 2)
Tensor<(D < E ? E : D)> cdist(const Tensor<D, K>& x, const Tensor<E, L>& y, double p = 2, bool through_matmul = false) {
  return Typed{cdist(x.value(), y.value(), p, through_matmul)};
}
/// The distances between rows of x, each pair once: [m (m - 1) / 2].
template <class K>
Tensor<1> pdist(const Tensor<2, K>& x, double p = 2) {
  return Typed{pdist(x.value(), p)};
}
/// x with each slice of `dim` whose norm exceeds `limit` scaled down to it.
template <int D, class K>
Tensor<D> renorm(const Tensor<D, K>& x, double p, Dim dim, double limit) {
  return Typed{renorm(x.value(), p, dim, limit)};
}

}  // namespace kiln
