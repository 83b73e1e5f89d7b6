// Linear algebra of matrices [..., m, n]; the dimensions before the last two are a batch. Computed in float64 for
// float64 and in float32 for every other type; half types are returned as such, integers as float32. All functions have
// gradients of any order unless documented otherwise. Where a function has no derivative at a matrix, the gradient
// there is NaN, while the other matrices of the batch have theirs.
#pragma once
#include "kiln/ops/functions.hpp"
#include "kiln/ops/linalg/vector_norm.hpp"
#include "kiln/ops/product/einsum.hpp"
#include "kiln/ops/product/products.hpp"

namespace kiln {

// ---- factorisations --------------------------------------------------------------------------------------------------
/// The lower triangular l, with positive diagonal and a = l lᵀ; or, with `upper`, lᵀ. Uses the symmetric part
/// (a + aᵀ) / 2, which is a where a is symmetric. Throws ArgumentError where that is not positive definite.
Value cholesky(const Value& a, bool upper = false);

/// Row permutation[i] of a is row i of l u. `packed` [..., m, n] holds l below the diagonal, without its ones, and u on
/// and above it; `permutation` is int64 [..., m]; `sign` [...] is its determinant.
struct LuFactors {
  Value packed, permutation, sign;
};
/// Uses partial pivoting. Singular matrices have factors too; the gradient is NaN where a pivot is 0, unless it is the
/// last pivot and no row is below it.
LuFactors lu_factor(const Value& a);
/// a = p l u: p [..., m, m] is a permutation, l [..., m, k] lower triangular with a diagonal of 1, u [..., k, n] upper
/// triangular, for k = min(m, n).
struct LuResult {
  Value p, l, u;
};
LuResult lu(const Value& a);

/// a = q r with orthonormal columns in q [..., m, k] and an upper triangular r [..., k, n] without negative numbers on
/// its diagonal, for k = min(m, n); or, complete, with q [..., m, m] and r [..., m, n]. Where one of the first k
/// columns depends on those before it, its column of q and its row of r have no derivative. The gradient of the
/// complete form is an AutodiffError where m > n.
struct QrResult {
  Value q, r;
};
QrResult qr(const Value& a, bool complete = false);

/// a = v diag(w) vᵀ: w [..., n] ascending, v [..., n, n] with orthonormal columns. Uses the symmetric part
/// (a + aᵀ) / 2. The sign of each column makes the first of its elements within a tenth of the largest magnitude
/// positive. Throws ArgumentError for NaN and infinity. Vectors of equal eigenvalues are not unique and have no
/// derivative, nor has a single one of several equal eigenvalues: gradients of these are NaN. A function of w alone
/// that treats equal eigenvalues alike has first and second derivatives; its third is NaN where two eigenvalues differ
/// by less than the square root of epsilon times the largest. Gradients that are recorded wait for the device.
struct EighResult {
  Value w, v;
};
EighResult eigh(const Value& a);
/// The eigenvalues of eigh(a).
Value eigvalsh(const Value& a);

/// a = u diag(s) vt: u [..., m, k] and vt [..., k, n] with orthonormal columns and rows, s [..., k] descending, for k =
/// min(m, n); `full` completes u to [..., m, m] and vt to [..., n, n] with vectors that are not unique, so that the
/// gradient is an AutodiffError unless m = n. The signs of u's columns are chosen as in eigh. Throws ArgumentError for
/// NaN and infinity. Equal singular values have derivatives like equal eigenvalues. A singular value of 0 grows
/// whichever way a changes: a function with a slope there has no derivative.
struct SvdResult {
  Value u, s, vt;
};
SvdResult svd(const Value& a, bool full = false);
/// The singular values of svd(a).
Value svdvals(const Value& a);

// ---- linear equations: b is [..., m, k], a column each, or one vector [m]; batches broadcast -------------------------
/// Solves a x = b. Throws ArgumentError where a is singular.
Value solve(const Value& a, const Value& b);
Value inverse(const Value& a);

struct TriangularOptions {
  bool upper = false;  // the triangle of a that is read
  bool unit = false;   // the diagonal is taken as ones and not read
  bool left = true;    // a x = b; or x a = b
};
/// Throws ArgumentError where the diagonal has a zero.
Value triangular_solve(const Value& a, const Value& b, const TriangularOptions& options = {});
/// Solves a x = b, given l = cholesky(a), or cholesky(a, true).
Value cholesky_solve(const Value& l, const Value& b, bool upper = false);
struct LuSolveOptions {
  bool left = true;      // a x = b; or x a = b
  bool adjoint = false;  // aᵀ in place of a
};
/// Solves a x = b, given lu_factor(a).
Value lu_solve(const LuFactors& factors, const Value& b, const LuSolveOptions& options = {});

/// a = p l d lᵀ pᵀ for the symmetric part of a, which need not be definite: l is unit lower triangular, d has blocks of
/// one or two rows on the diagonal, and row permutation[i] (int64) of a is row i of the factored matrix (Bunch and
/// Kaufman, "Some stable methods for calculating inertia and solving symmetric linear systems", 1977). Waits for the
/// device; asking for a gradient is an AutodiffError.
struct LdlFactors {
  Value l, d, permutation;
};
LdlFactors ldl_factor(const Value& a);
/// Solves a x = b, given ldl_factor(a).
Value ldl_solve(const LdlFactors& factors, const Value& b);

/// Solves tensordot(a, x, x.rank()) = b for x of shape a.shape[b.rank():]; `dims` of a are moved to its end first.
Value tensorsolve(const Value& a, const Value& b, const Dims& dims = {});
/// The inverse of a as a map from its last dimensions to its first `count`: tensordot(tensorinv(a), b, count) is
/// tensorsolve(a, b).
Value tensorinv(const Value& a, int count = 2);
/// x [..., n] -> [..., n, columns]: the powers 0, 1, 2, ... of each element; -1 means as many columns as rows.
Value vander(const Value& x, std::int64_t columns = -1);

/// A cutoff of max(m, n) * epsilon of the element type: singular values up to that times the largest one are taken as
/// zero.
inline constexpr double kRounding = -1;
/// The Moore-Penrose inverse [..., n, m]: singular values up to `absolute`, or up to `cutoff` times the largest one,
/// are taken as zero. Where `absolute` is given and `cutoff` is not, `cutoff` is 0. The gradient assumes that the rank
/// does not change near the matrix. With a given limit that is always assumed; without one, matrices below full rank
/// have no gradient.
Value pinv(const Value& a, double cutoff = kRounding, double absolute = 0);
/// The x with the least |a x - b|₂, and of several the one with the least |x|₂. Computed by singular values, so that a
/// may have any rank (its gradient is as for pinv); where its columns are independent, triangular_solve(r, qᵀ b) of
/// qr(a) is faster.
Value lstsq(const Value& a, const Value& b, double cutoff = kRounding);

// ---- numbers and functions of matrices -------------------------------------------------------------------------------
/// [..., n, n] -> [...]. Singular matrices have gradients up to the third order; gradients of any order exist for n up
/// to 3 and at regular matrices. For larger n the gradient waits for the device, to learn which matrices are nearly
/// singular.
Value det(const Value& a);
/// det = sign * exp(log_abs), where det may overflow; 0 and minus infinity for singular matrices, which have no
/// gradient.
struct SlogdetResult {
  Value sign, log_abs;
};
SlogdetResult slogdet(const Value& a);
/// The number (int64) of singular values above `cutoff` times the largest one and above `absolute`, as in pinv().
Value matrix_rank(const Value& a, double cutoff = kRounding, double absolute = 0);
/// |a| |a⁻¹|; for a singular a infinite in the spectral norm, 0 in MatrixNorm::MinusTwo, an ArgumentError in others.
Value cond(const Value& a, MatrixNorm norm = MatrixNorm::Spectral);
/// a multiplied by itself; a negative exponent takes the inverse. With other exponents integers stay integers.
Value matrix_power(const Value& a, std::int64_t exponent);
/// 1 + a + a² / 2 + ..., by scaling and squaring (Higham, "The scaling and squaring method for the matrix exponential
/// revisited", 2005). Waits for the device, to learn how often to square.
Value matrix_exp(const Value& a);

}  // namespace kiln
