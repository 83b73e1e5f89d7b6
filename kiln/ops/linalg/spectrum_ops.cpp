#include "kiln/ops/linalg/spectrum_ops.hpp"

#include <algorithm>

#include "kiln/ops/check.hpp"
#include "kiln/ops/linalg/linalg.hpp"
#include "kiln/ops/linalg/matrix.hpp"
#include "kiln/ops/view/diagonal.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln::op {
namespace {

Value row(const Value& values) { return unsqueeze(values, -2); }
Value column(const Value& values) { return unsqueeze(values, -1); }

/// 1 / x, and 0 where x is 0: pairs of equal values contribute nothing.
Value inverse_or_zero(const Value& x) {
  const Value zero = eq(x, 0);
  return where(zero, 0, 1.0 / where(zero, 1, x));
}

Value skew(const Value& x) { return x - transpose(x); }

}  // namespace

Descs Eigh::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_square(kName, in[0]);
  const Shape& shape = in[0].shape();
  const Desc values{batched(batch_of(shape), {rows_of(shape)}), in[0].dtype()};
  return vectors ? Descs{values, Desc{shape, in[0].dtype()}} : Descs{values};
}

// Giles, "An extended collection of matrix derivative results" (2008), section 3.1.
void Eigh::vjp(Backward& backward) const {
  backward.to(0, [&] {
    if (!vectors) {
      const Value basis = eigh(backward.in(0)).v;
      return matmul(basis * row(backward.grad()), transpose(basis));
    }
    const Value values = backward.out(w), basis = backward.out(v);
    const Value turned = matmul(transpose(basis), backward.grad(v)) * inverse_or_zero(row(values) - column(values));
    const Value inner = diag_embed(backward.grad(w)) + 0.5 * (turned + transpose(turned));
    return matmul(matmul(basis, inner), transpose(basis));
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

// Townsend, "Differentiating the singular value decomposition" (2016).
void Svd::vjp(Backward& backward) const {
  const Shape& shape = backward.in_desc(0).shape;
  const std::int64_t rows = rows_of(shape), columns = columns_of(shape);
  require<AutodiffError>(form != SvdForm::Full || rows == columns, "svd: the full form of ", shape,
                         " has no gradient, because the vectors that complete u or vt are not unique; use the reduced "
                         "form");
  backward.to(0, [&] {
    if (form == SvdForm::Values) {
      const SvdResult reduced = svd(backward.in(0));
      return matmul(reduced.u * row(backward.grad()), reduced.vt);
    }
    const Value left = backward.out(u), values = backward.out(s), right = transpose(backward.out(vt));
    const Value g_left = backward.grad(u), g_right = transpose(backward.grad(vt));
    const Value pairs = inverse_or_zero((row(values) - column(values)) * (row(values) + column(values)));
    const Value across = matmul(transpose(left), g_left), along = matmul(transpose(right), g_right);
    const Value inner =
        skew(across) * pairs * row(values) + column(values) * (skew(along) * pairs) + diag_embed(backward.grad(s));
    Value g = matmul(matmul(left, inner), transpose(right));
    // What turns the vectors out of the space that they span.
    const Value inverse = inverse_or_zero(row(values));
    if (rows > columns) g = g + matmul((g_left - matmul(left, across)) * inverse, transpose(right));
    if (columns > rows) g = g + matmul(left * inverse, transpose(g_right - matmul(right, along)));
    return g;
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

// Golub and Pereyra, "The differentiation of pseudo-inverses" (1973), equation 4.12: right where the rank does not
// change nearby.
void Pinv::vjp(Backward& backward) const {
  backward.to(0, [&] {
    const Value &a = backward.in(0), p = backward.out(), pt = transpose(p), g = backward.grad(), gt = transpose(g);
    const Value beside = gt - matmul(a, matmul(p, gt)), beyond = gt - matmul(matmul(gt, p), a);
    return matmul(matmul(beside, p), pt) + matmul(pt, matmul(p, beyond)) - matmul(pt, matmul(g, pt));
  });
}

}  // namespace kiln::op
