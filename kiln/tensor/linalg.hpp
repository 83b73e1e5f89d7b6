// Linear algebra of tensors [..., m, n], one matrix of a batch at a time. ops/linalg/linalg.hpp has the contracts.
#pragma once
#include "kiln/ops/linalg/linalg.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// The rank of a matrix, or of a batch of matrices.
template <int D>
concept MatrixRank = (D >= 2);
/// The rank of the solution for a [..., m, n] and right sides b [..., m, k] or [m].
template <int D, int E>
inline constexpr int kSolvedRank = E == 1 ? D - 1 : (D < E ? E : D);

// ---- factorisations --------------------------------------------------------------------------------------------------
template <int D, class K>
requires MatrixRank<D> Tensor<D> cholesky(const Tensor<D, K>& a, bool upper = false) {
  return Typed{cholesky(a.value(), upper)};
}

template <int D>
struct LuFactorsOf {
  LuFactorsOf(LuFactors factors)
      : packed(std::move(factors.packed)), permutation(std::move(factors.permutation)), sign(std::move(factors.sign)) {}
  operator LuFactors() const { return {packed.value(), permutation.value(), sign.value()}; }
  Tensor<D> packed;
  Tensor<D - 1, Int> permutation;
  Tensor<D - 2> sign;
};
template <int D, class K>
requires MatrixRank<D> LuFactorsOf<D> lu_factor(const Tensor<D, K>& a) {
  return lu_factor(a.value());
}

template <int D>
struct LuResultOf {
  LuResultOf(LuResult result) : p(std::move(result.p)), l(std::move(result.l)), u(std::move(result.u)) {}
  Tensor<D> p, l, u;
};
/// auto [p, l, u] = lu(a);
template <int D, class K>
requires MatrixRank<D> LuResultOf<D> lu(const Tensor<D, K>& a) {
  return lu(a.value());
}

template <int D>
struct QrResultOf {
  QrResultOf(QrResult result) : q(std::move(result.q)), r(std::move(result.r)) {}
  Tensor<D> q, r;
};
/// auto [q, r] = qr(a);
template <int D, class K>
requires MatrixRank<D> QrResultOf<D> qr(const Tensor<D, K>& a, bool complete = false) {
  return qr(a.value(), complete);
}

template <int D>
struct EighResultOf {
  EighResultOf(EighResult result) : w(std::move(result.w)), v(std::move(result.v)) {}
  Tensor<D - 1> w;
  Tensor<D> v;
};
/// auto [w, v] = eigh(a);
template <int D, class K>
requires MatrixRank<D> EighResultOf<D> eigh(const Tensor<D, K>& a) {
  return eigh(a.value());
}
template <int D, class K>
requires MatrixRank<D> Tensor<D - 1> eigvalsh(const Tensor<D, K>& a) {
  return Typed{eigvalsh(a.value())};
}

template <int D>
struct SvdResultOf {
  SvdResultOf(SvdResult result) : u(std::move(result.u)), s(std::move(result.s)), vt(std::move(result.vt)) {}
  Tensor<D> u;
  Tensor<D - 1> s;
  Tensor<D> vt;
};
/// auto [u, s, vt] = svd(a);
template <int D, class K>
requires MatrixRank<D> SvdResultOf<D> svd(const Tensor<D, K>& a, bool full = false) {
  return svd(a.value(), full);
}
template <int D, class K>
requires MatrixRank<D> Tensor<D - 1> svdvals(const Tensor<D, K>& a) {
  return Typed{svdvals(a.value())};
}

// ---- linear equations: right sides [..., m, k], or one vector [m] ----------------------------------------------------
template <int D, int E, class K, class L>
requires MatrixRank<D> Tensor<kSolvedRank<D, E>> solve(const Tensor<D, K>& a, const Tensor<E, L>& b) {
  return Typed{solve(a.value(), b.value())};
}
template <int D, int E, class K, class L>
requires MatrixRank<D> Tensor<kSolvedRank<D, E>> triangular_solve(const Tensor<D, K>& a, const Tensor<E, L>& b,
                                                                  const TriangularOptions& options = {}) {
  return Typed{triangular_solve(a.value(), b.value(), options)};
}
template <int D, int E, class K, class L>
requires MatrixRank<D>
Tensor<kSolvedRank<D, E>> cholesky_solve(const Tensor<D, K>& l, const Tensor<E, L>& b, bool upper = false) {
  return Typed{cholesky_solve(l.value(), b.value(), upper)};
}
template <int D, int E, class L>
Tensor<kSolvedRank<D, E>> lu_solve(const LuFactorsOf<D>& factors, const Tensor<E, L>& b,
                                   const LuSolveOptions& options = {}) {
  return Typed{lu_solve(static_cast<LuFactors>(factors), b.value(), options)};
}
template <int D>
struct LdlFactorsOf {
  LdlFactorsOf(LdlFactors factors)
      : l(std::move(factors.l)), d(std::move(factors.d)), permutation(std::move(factors.permutation)) {}
  operator LdlFactors() const { return {l.value(), d.value(), permutation.value()}; }
  Tensor<D> l, d;
  Tensor<D - 1, Int> permutation;
};
/// Factors a symmetric matrix, definite or not: auto [l, d, permutation] = ldl_factor(a);
template <int D, class K>
requires MatrixRank<D> LdlFactorsOf<D> ldl_factor(const Tensor<D, K>& a) {
  return ldl_factor(a.value());
}
template <int D, int E, class L>
Tensor<kSolvedRank<D, E>> ldl_solve(const LdlFactorsOf<D>& factors, const Tensor<E, L>& b) {
  return Typed{ldl_solve(static_cast<LdlFactors>(factors), b.value())};
}
/// Solves tensordot(a, x) = b over all dimensions of x; `dims` of a are moved to its end first.
template <int D, int E, class K, class L>
requires(D >= E) Tensor<D - E> tensorsolve(const Tensor<D, K>& a, const Tensor<E, L>& b, const Dims& dims = {}) {
  return Typed{tensorsolve(a.value(), b.value(), dims)};
}
/// The inverse of a as a map from its last dimensions to its first `count`.
template <int D, class K>
Tensor<D> tensorinv(const Tensor<D, K>& a, int count = 2) {
  return Typed{tensorinv(a.value(), count)};
}
/// x [..., n] -> [..., n, columns]: the powers 0, 1, 2, ... of each element.
template <int D, class K>
requires(D >= 1) Tensor<D + 1, Arithmetic<K>> vander(const Tensor<D, K>& x, std::int64_t columns = -1) {
  return Typed{vander(x.value(), columns)};
}
template <int D, int E, class K, class L>
requires MatrixRank<D>
Tensor<kSolvedRank<D, E>> lstsq(const Tensor<D, K>& a, const Tensor<E, L>& b, double cutoff = kRounding) {
  return Typed{lstsq(a.value(), b.value(), cutoff)};
}
template <int D, class K>
requires MatrixRank<D> Tensor<D> inverse(const Tensor<D, K>& a) {
  return Typed{inverse(a.value())};
}
template <int D, class K>
requires MatrixRank<D> Tensor<D> pinv(const Tensor<D, K>& a, double cutoff = kRounding, double absolute = 0) {
  return Typed{pinv(a.value(), cutoff, absolute)};
}

// ---- numbers and functions of matrices -------------------------------------------------------------------------------
template <int D, class K>
requires MatrixRank<D> Tensor<D - 2> det(const Tensor<D, K>& a) {
  return Typed{det(a.value())};
}
template <int D>
struct SlogdetResultOf {
  SlogdetResultOf(SlogdetResult result) : sign(std::move(result.sign)), log_abs(std::move(result.log_abs)) {}
  Tensor<D> sign, log_abs;
};
/// auto [sign, log_abs] = slogdet(a);
template <int D, class K>
requires MatrixRank<D> SlogdetResultOf<D - 2> slogdet(const Tensor<D, K>& a) {
  return slogdet(a.value());
}
template <int D, class K>
requires MatrixRank<D>
Tensor<D - 2, Int> matrix_rank(const Tensor<D, K>& a, double cutoff = kRounding, double absolute = 0) {
  return Typed{matrix_rank(a.value(), cutoff, absolute)};
}
template <int D, class K>
requires MatrixRank<D> Tensor<D - 2> cond(const Tensor<D, K>& a, MatrixNorm norm = MatrixNorm::Spectral) {
  return Typed{cond(a.value(), norm)};
}
/// A negative exponent needs a tensor of floats.
template <int D, class K>
requires MatrixRank<D> Tensor<D, K> matrix_power(const Tensor<D, K>& a, std::int64_t exponent) {
  return Typed{matrix_power(a.value(), exponent)};
}
template <int D, class K>
requires MatrixRank<D> Tensor<D> matrix_exp(const Tensor<D, K>& a) {
  return Typed{matrix_exp(a.value())};
}

}  // namespace kiln
