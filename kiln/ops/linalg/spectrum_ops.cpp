#include "kiln/ops/linalg/spectrum_ops.hpp"

#include <algorithm>

#include "kiln/ops/check.hpp"
#include "kiln/ops/linalg/linalg.hpp"
#include "kiln/ops/linalg/matrix.hpp"
#include "kiln/ops/linalg/spectrum_gradients.hpp"
#include "kiln/ops/view/diagonal.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln::op {
namespace {

Value row(const Value& values) { return unsqueeze(values, -2); }
Value column(const Value& values) { return unsqueeze(values, -1); }

/// 1 / x, and 0 where `none` is true.
Value inverse_but(const Value& none, const Value& x) { return where(none, 0.0, 1.0 / where(none, 1.0, x)); }

Value skew(const Value& x) { return x - transpose(x); }

/// Whether gradients x [..., m, k], at the pairs or vectors in `where_equal`, exceed the rounding of sums of `of`: they
/// then need derivatives that do not exist.
Value asks_for(const Value& where_equal, const Value& x, const Value& of, double rounding) {
  const Value size = max(abs(of.detach()), {-2, -1}, true);
  return any_in_matrix(where(where_equal, gt(abs(x.detach()), rounding * size), false));
}
Value or_else(const Value& a, const Value& b) { return where(a, true, b); }

}  // namespace

Descs Eigh::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_square(kName, in[0]);
  const Shape& shape = in[0].shape();
  const Desc values{batched(batch_of(shape), {rows_of(shape)}), in[0].dtype()};
  return vectors ? Descs{values, Desc{shape, in[0].dtype()}} : Descs{values};
}

// Giles, "An extended collection of matrix derivative results" (2008), section 3.1. Vectors of equal eigenvalues have
// no derivative.
void Eigh::vjp(Backward& backward) const {
  backward.to(0, [&] {
    if (!vectors) {
      const EighResult both = eigh(backward.in(0));
      return eigenvalue_gradient(backward, backward.grad(), both.w, both.v, w);
    }
    const Value values = backward.out(w), basis = backward.out(v);
    Value g;
    if (!backward.grad_if_any(w).empty()) g = eigenvalue_gradient(backward, backward.grad(w), values, basis, w);
    if (backward.grad_if_any(v).empty()) return g;
    if (basis.numel() == 0) return zeros_like(basis);
    const double rounding = spectrum_rounding(backward.in_desc(0));
    const Value equal = equal_pairs(values.detach(), rounding), across = matmul(transpose(basis), backward.grad(v));
    const Value none = or_else(equal, diag_mask({values.dim(-1), values.dim(-1)}, values.device()));
    const Value turned = across * inverse_but(none, row(values) - column(values));
    const Value of_vectors = matmul(matmul(basis, 0.5 * (turned + transpose(turned))), transpose(basis));
    const Value both = g ? g + of_vectors : of_vectors;
    return nan_where(asks_for(equal, across, backward.grad(v), rounding), both);
  });
}

Descs Svd::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_matrix(kName, in[0]);
  const Shape &shape = in[0].shape(), batch = batch_of(shape);
  const std::int64_t rows = rows_of(shape), columns = columns_of(shape), k = std::min(rows, columns);
  const DType dtype = in[0].dtype();
  const Desc values{batched(batch, {k}), dtype};
  if (form == SvdForm::Values) return {values};
  const bool full = form == SvdForm::Full;
  return {Desc{batched(batch, {rows, full ? rows : k}), dtype}, values,
          Desc{batched(batch, {full ? columns : k, columns}), dtype}};
}

// Townsend, "Differentiating the singular value decomposition" (2016). Vectors of equal singular values, and vectors
// that complete a basis where some are zero, have no derivative.
void Svd::vjp(Backward& backward) const {
  const Shape& shape = backward.in_desc(0).shape;
  const std::int64_t rows = rows_of(shape), columns = columns_of(shape);
  require<AutodiffError>(form != SvdForm::Full || rows == columns, "svd: the full form of ", shape,
                         " has no gradient, because the vectors that complete u or vt are not unique; use the reduced "
                         "form");
  backward.to(0, [&] {
    if (form == SvdForm::Values) {
      const SvdResult reduced = svd(backward.in(0));
      return singular_value_gradient(backward, backward.grad(), reduced.u, reduced.s, reduced.vt, 0);
    }
    const Value left = backward.out(u), values = backward.out(s), right = transpose(backward.out(vt));
    Value g;
    if (!backward.grad_if_any(s).empty())
      g = singular_value_gradient(backward, backward.grad(s), left, values, backward.out(vt), s);
    if (backward.grad_if_any(u).empty() && backward.grad_if_any(vt).empty()) return g;
    if (values.numel() == 0) return zeros(shape, backward.device(), values.dtype());

    const Value g_left = backward.grad(u), g_right = transpose(backward.grad(vt));
    const double rounding = spectrum_rounding(backward.in_desc(0));
    const Value fixed = row(values.detach()), equal = equal_pairs(values.detach(), rounding);
    const Value zero = le(fixed, rounding * max(fixed, {-1}, true));
    const Value none = or_else(equal, diag_mask({values.dim(-1), values.dim(-1)}, values.device()));
    const Value pairs = inverse_but(none, (row(values) - column(values)) * (row(values) + column(values)));
    const Value across = matmul(transpose(left), g_left), along = matmul(transpose(right), g_right);
    const Value inner = skew(across) * pairs * row(values) + column(values) * (skew(along) * pairs);
    const Value of_vectors = matmul(matmul(left, inner), transpose(right));
    g = g ? g + of_vectors : of_vectors;
    Value lost = or_else(asks_for(equal, across, g_left, rounding), asks_for(equal, along, g_right, rounding));
    // The part that moves the vectors out of the space that they span.
    const Value inverse = inverse_but(zero, row(values));
    if (rows > columns) {
      const Value out = g_left - matmul(left, across);
      g = g + matmul(out * inverse, transpose(right));
      lost = or_else(lost, asks_for(zero, out, g_left, rounding));
    }
    if (columns > rows) {
      const Value out = g_right - matmul(right, along);
      g = g + matmul(left * inverse, transpose(out));
      lost = or_else(lost, asks_for(zero, out, g_right, rounding));
    }
    return nan_where(lost, g);
  });
}

Descs Pinv::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_matrix(kName, in[0]);
  for (const double limit : {cutoff, absolute})
    require<ArgumentError>(limit >= 0, "pinv: the cutoff must not be negative, got ", limit);
  const Shape& shape = in[0].shape();
  return one(batched(batch_of(shape), {columns_of(shape), rows_of(shape)}), in[0].dtype());
}

Values Pinv::expand(Inputs in) const {
  if (in[0].numel() == 0) return {zeros_like(transpose(in[0]))};
  const auto [left, values, right] = svd(in[0]);
  const Value counts = gt(values, maximum(narrow(values, -1, 0, 1) * cutoff, absolute));
  const Value inverse = where(counts, 1.0 / where(counts, values, 1), 0);
  return {matmul(transpose(right) * row(inverse), transpose(left))};
}

// Golub and Pereyra, "The differentiation of pseudo-inverses" (1973), equation 4.12: valid where the rank does not
// change nearby.
void Pinv::vjp(Backward& backward) const {
  backward.to(0, [&] {
    const Value &a = backward.in(0), p = backward.out(), pt = transpose(p), g = backward.grad(), gt = transpose(g);
    const Value beside = gt - matmul(a, matmul(p, gt)), beyond = gt - matmul(matmul(gt, p), a);
    return matmul(matmul(beside, p), pt) + matmul(pt, matmul(p, beyond)) - matmul(pt, matmul(g, pt));
  });
}

}  // namespace kiln::op
