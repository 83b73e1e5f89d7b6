// Linear algebra of matrices [..., m, n], over whatever batch stands before the last two dimensions. Computed in
// float64 for float64 and in float32 for every other type; half types come back as they were, integers as float32.
// All have gradients of any order unless their line says otherwise. What has no derivative at a matrix has the gradient NaN
// there, and the other matrices of a batch have theirs.
#pragma once
#include "kiln/ops/functions.hpp"
#include "kiln/ops/linalg/vector_norm.hpp"
#include "kiln/ops/product/einsum.hpp"
#include "kiln/ops/product/products.hpp"

namespace kiln {

// ---- factorisations --------------------------------------------------------------------------------------------------
/// The lower triangular l, of positive diagonal, with a = l lᵀ; or, `upper`, lᵀ. Takes the symmetric part
/// (a + aᵀ) / 2, which is a where a is symmetric. Throws ArgumentError where that is not positive definite.
Value cholesky(const Value& a, bool upper = false);

/// Row permutation[i] of a is row i of l u. `packed` [..., m, n] holds l below the diagonal, without its ones, and u on
/// and above it; `permutation` is int64 [..., m], `sign` [...] its determinant.
struct LuFactors {
  Value packed, permutation, sign;
};
/// With partial pivoting. Singular matrices have factors too; the gradient is NaN where a pivot is 0, unless it is the
/// last one and no row is below it.
LuFactors lu_factor(const Value& a);
/// a = p l u: p [..., m, m] a permutation, l [..., m, k] lower triangular of diagonal 1, u [..., k, n] upper triangular,
/// for k = min(m, n).
struct LuResult {
  Value p, l, u;
};
LuResult lu(const Value& a);

/// a = q r with orthonormal columns in q [..., m, k] and an upper triangular r [..., k, n] without negative numbers on
/// its diagonal, for k = min(m, n); or, complete, with q [..., m, m] and r [..., m, n]. Where one of the first k columns
/// depends on those before it, its column of q and its row of r have no derivative; that of the complete form is an
/// AutodiffError where m > n.
struct QrResult {
  Value q, r;
};
QrResult qr(const Value& a, bool complete = false);

/// a = v diag(w) vᵀ: w [..., n] ascending, v [..., n, n] with orthonormal columns. Takes the symmetric part
/// (a + aᵀ) / 2. Each column's sign is such that the first of its elements within a tenth of the largest magnitude is
/// positive. Throws ArgumentError for NaN and infinity. Vectors of equal eigenvalues are not unique and have no
/// derivative, and neither has one alone of equal eigenvalues: the gradient of what asks for them is NaN. What depends on w
/// alone and treats equal ones alike has its gradient, and the gradient of that; a third derivative is NaN where two
/// eigenvalues differ by less than the root of epsilon times the largest. Gradients that are recorded wait for the device.
struct EighResult {
  Value w, v;
};
EighResult eigh(const Value& a);
/// The eigenvalues of eigh(a).
Value eigvalsh(const Value& a);

/// a = u diag(s) vt: u [..., m, k] and vt [..., k, n] with orthonormal columns and rows, s [..., k] descending, for
/// k = min(m, n); `full` completes u to [..., m, m] and vt to [..., n, n] with vectors that are not unique, so that the
/// gradient is an AutodiffError unless m = n. The sign of u's columns is chosen as that of eigh's. Throws
/// ArgumentError for NaN and infinity. Of equal singular values the same holds as of equal eigenvalues, and of a singular
/// value of 0, which grows whichever way a moves: what has a slope there has no derivative.
struct SvdResult {
  Value u, s, vt;
};
SvdResult svd(const Value& a, bool full = false);
/// The singular values of svd(a).
Value svdvals(const Value& a);

// ---- linear equations: b is [..., m, k], a column each, or one vector [m]; batches broadcast -------------------------
/// x with a x = b. Throws ArgumentError where a is singular.
Value solve(const Value& a, const Value& b);
Value inverse(const Value& a);

struct TriangularOptions {
  bool upper = false;  // the triangle of a that is read
  bool unit = false;   // the diagonal counts as ones and is not read
  bool left = true;    // a x = b; or x a = b
};
/// Throws ArgumentError where a zero stands on the diagonal.
Value triangular_solve(const Value& a, const Value& b, const TriangularOptions& options = {});
/// x with a x = b, from l = cholesky(a), or from cholesky(a, true).
Value cholesky_solve(const Value& l, const Value& b, bool upper = false);
struct LuSolveOptions {
  bool left = true;      // a x = b; or x a = b
  bool adjoint = false;  // aᵀ in place of a
};
/// x with a x = b, from lu_factor(a).
Value lu_solve(const LuFactors& factors, const Value& b, const LuSolveOptions& options = {});

/// a = p l d lᵀ pᵀ of the symmetric part of a, which need not be definite: l unit lower triangular, d of blocks of one or
/// two rows on the diagonal, and row permutation[i] (int64) of a row i of what is factored (Bunch and Kaufman, "Some
/// stable methods for calculating inertia and solving symmetric linear systems", 1977). Waits for the device; has no
/// gradient, which is an AutodiffError.
struct LdlFactors {
  Value l, d, permutation;
};
LdlFactors ldl_factor(const Value& a);
/// x with a x = b, from ldl_factor(a).
Value ldl_solve(const LdlFactors& factors, const Value& b);

/// x with tensordot(a, x, x.rank()) = b, of shape a.shape[b.rank():]; `dims` of a are moved to its end first.
Value tensorsolve(const Value& a, const Value& b, const Dims& dims = {});
/// The inverse of the map from the last dimensions of a to its first `count`: tensordot(tensorinv(a), b, count) is
/// tensorsolve(a, b).
Value tensorinv(const Value& a, int count = 2);
/// x [..., n] -> [..., n, columns] of the powers 0, 1, 2, ... of each element; as many columns as rows where it is -1.
Value vander(const Value& x, std::int64_t columns = -1);

/// Singular values up to max(m, n) * epsilon of the element type times the largest one count as zero.
inline constexpr double kRounding = -1;
/// The Moore-Penrose inverse [..., n, m]: singular values up to `absolute`, or up to `cutoff` times the largest one, count
/// as zero. Where `absolute` is given and `cutoff` is not, that is 0. The gradient is for matrices near which the rank
/// does not change: of what a given limit cuts off it is taken to be so, and without one there is none below full rank.
Value pinv(const Value& a, double cutoff = kRounding, double absolute = 0);
/// x with the least |a x - b|₂, and of several the one with the least |x|₂. By singular values, so that a may have any
/// rank (its gradient is as pinv's); where its columns are independent, triangular_solve(r, qᵀ b) of qr(a) is quicker.
Value lstsq(const Value& a, const Value& b, double cutoff = kRounding);

// ---- numbers and functions of matrices -------------------------------------------------------------------------------
/// [..., n, n] -> [...]. Singular matrices have their gradients too, up to the third order, and of any order for n up to 3
/// and at regular matrices. For larger n the gradient waits for the device, to ask which matrices are nearly singular.
Value det(const Value& a);
/// det = sign * exp(log_abs), where that may overflow; 0 and minus infinity for singular matrices, which have no gradient.
struct SlogdetResult {
  Value sign, log_abs;
};
SlogdetResult slogdet(const Value& a);
/// The number (int64) of singular values above `cutoff` times the largest one and above `absolute`, as of pinv().
Value matrix_rank(const Value& a, double cutoff = kRounding, double absolute = 0);
/// |a| |a⁻¹|; infinite for a singular a in the spectral norm, 0 in MatrixNorm::MinusTwo, an ArgumentError in others.
Value cond(const Value& a, MatrixNorm norm = MatrixNorm::Spectral);
/// a multiplied by itself; the inverse where the exponent is negative. Integers stay integers for others.
Value matrix_power(const Value& a, std::int64_t exponent);
/// 1 + a + a² / 2 + ..., by scaling and squaring (Higham, "The scaling and squaring method for the matrix exponential
/// revisited", 2005). Waits for the device, to know how often to square.
Value matrix_exp(const Value& a);

}  // namespace kiln
