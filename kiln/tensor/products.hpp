// Products of vectors, matrices and tensors; ops/product/products.hpp and einsum.hpp have the contracts.
#pragma once
#include "kiln/ops/product/einsum.hpp"
#include "kiln/ops/product/products.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

template <int D, int E>
inline constexpr int kLargerRank = D < E ? E : D;

// ---- of vectors ------------------------------------------------------------------------------------------------------
template <class K, class L>
Tensor<0, Arithmetic<K, L>> dot(const Tensor<1, K>& x, const Tensor<1, L>& y) {
  return Typed{dot(x.value(), y.value())};
}
template <int D, class K, class L>
Tensor<0, Arithmetic<K, L>> vdot(const Tensor<D, K>& x, const Tensor<D, L>& y) {
  return Typed{vdot(x.value(), y.value())};
}
template <int D, int E, class K, class L>
requires(D >= 1 && E >= 1)
Tensor<kLargerRank<D, E> - 1, Arithmetic<K, L>> vecdot(const Tensor<D, K>& x, const Tensor<E, L>& y, Dim dim = -1) {
  return Typed{vecdot(x.value(), y.value(), dim)};
}
template <int D, int E, class K, class L>
requires(D >= 1 && E >= 1)
Tensor<kLargerRank<D, E> + 1, Arithmetic<K, L>> outer(const Tensor<D, K>& x, const Tensor<E, L>& y) {
  return Typed{outer(x.value(), y.value())};
}
template <int D, int E, class K, class L>
Tensor<kLargerRank<D, E>, Arithmetic<K, L>> cross(const Tensor<D, K>& x, const Tensor<E, L>& y, Dim dim = -1) {
  return Typed{cross(x.value(), y.value(), dim)};
}

// ---- of matrices -----------------------------------------------------------------------------------------------------
template <int D, int E, class K, class L>
requires(D >= 2 && E >= 1)
Tensor<kLargerRank<D - 1, E>, Arithmetic<K, L>> matvec(const Tensor<D, K>& a, const Tensor<E, L>& x) {
  return Typed{matvec(a.value(), x.value())};
}
template <class K, class L>
Tensor<2, Arithmetic<K, L>> mm(const Tensor<2, K>& a, const Tensor<2, L>& b) {
  return Typed{mm(a.value(), b.value())};
}
template <class K, class L>
Tensor<3, Arithmetic<K, L>> bmm(const Tensor<3, K>& a, const Tensor<3, L>& b) {
  return Typed{bmm(a.value(), b.value())};
}
template <int C>
Tensor<2> addmm(const Tensor<C>& c, const Tensor<2>& a, const Tensor<2>& b, const AddmmOptions& options = {}) {
  return Typed{addmm(c.value(), a.value(), b.value(), options)};
}
template <int C>
Tensor<3> baddbmm(const Tensor<C>& c, const Tensor<3>& a, const Tensor<3>& b, const AddmmOptions& options = {}) {
  return Typed{baddbmm(c.value(), a.value(), b.value(), options)};
}
template <int C>
Tensor<1> addmv(const Tensor<C>& c, const Tensor<2>& a, const Tensor<1>& x, const AddmmOptions& options = {}) {
  return Typed{addmv(c.value(), a.value(), x.value(), options)};
}
template <int C>
Tensor<2> addr(const Tensor<C>& c, const Tensor<1>& x, const Tensor<1>& y, const AddmmOptions& options = {}) {
  return Typed{addr(c.value(), x.value(), y.value(), options)};
}
/// multi_dot(a, b, x): the first and the last may be vectors.
template <int First, int... Others, class K, class... Ks>
auto multi_dot(const Tensor<First, K>& first, const Tensor<Others, Ks>&... others) {
  constexpr int kRanks[] = {First, Others...};
  constexpr int kRank = kRanks[0] + kRanks[sizeof...(Others)] - 2;
  return Tensor<kRank, K>(multi_dot(Values{first.value(), others.value()...}));
}

// ---- of tensors ------------------------------------------------------------------------------------------------------
/// tensordot<2>(a, b): over the last two dimensions of a and the first two of b.
template <int N, int D, int E, class K, class L>
requires(N <= D && N <= E)
Tensor<D + E - 2 * N, Arithmetic<K, L>> tensordot(const Tensor<D, K>& a, const Tensor<E, L>& b) {
  return Typed{tensordot(a.value(), b.value(), N)};
}
/// tensordot(a, b, {0, -1}, {2, 0}): dimension 0 of a with 2 of b, and the last of a with 0 of b.
template <int D, int E, class K, class L, std::size_t N>
Tensor<D + E - 2 * static_cast<int>(N), Arithmetic<K, L>> tensordot(const Tensor<D, K>& a, const Tensor<E, L>& b,
                                                                    const int (&dims_a)[N], const int (&dims_b)[N]) {
  return Typed{tensordot(a.value(), b.value(), Dims(dims_a, dims_a + N), Dims(dims_b, dims_b + N))};
}
template <int D, int E, class K, class L>
Tensor<kLargerRank<D, E>, Arithmetic<K, L>> kron(const Tensor<D, K>& a, const Tensor<E, L>& b) {
  return Typed{kron(a.value(), b.value())};
}
/// einsum<3>("bij,bjk->bik", x, y): the caller states the rank of the result.
template <int R, int... D, class... K>
auto einsum(std::string_view expression, const Tensor<D, K>&... operands) {
  using Result = std::conditional_t<(std::is_same_v<K, Float> || ...), Float, Int>;
  return Tensor<R, Result>(einsum(expression, {operands.value()...}));
}

}  // namespace kiln
