#include "kiln/ops/linalg/linalg.hpp"

#include <algorithm>

#include "kiln/core/size.hpp"
#include "kiln/ops/elementwise/precision.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/ops/linalg/factor_ops.hpp"
#include "kiln/ops/linalg/matrix.hpp"
#include "kiln/ops/linalg/solve_ops.hpp"
#include "kiln/ops/linalg/spectrum_ops.hpp"
#include "kiln/ops/view/diagonal.hpp"

namespace kiln {
namespace {

using op::batch_of;
using op::batched;
using op::columns_of;
using op::Precision;
using op::rows_of;

Value symmetric_part(std::string_view op, const Value& a) {
  op::require_square(op, a);
  return 0.5 * (a + transpose(a));
}

Value expand_batch(const Value& a, const Shape& batch) {
  return expand(a, batched(batch, {rows_of(a.shape()), columns_of(a.shape())}));
}

/// f(a, b) for a [..., m, n] and right sides b [..., m, k] or [m], with batches that broadcast. Where one a serves a
/// batch of right sides, f gets them side by side as one matrix.
template <class F>
Value each_right_side(std::string_view op, const Value& a, const Value& b, const F& f) {
  op::require_matrix(op, a);
  require<ShapeError>(b.rank() >= 1, op, ": the right side needs a dimension, got ", b);
  if (b.rank() == 1) return squeeze(each_right_side(op, a, unsqueeze(b, 1), f), -1);
  const std::int64_t rows = rows_of(b.shape()), columns = columns_of(b.shape());
  require<ShapeError>(rows_of(a.shape()) == rows, op, ": ", a.shape(), " and the right side ", b.shape(),
                      " do not fit: ", rows_of(a.shape()), " and ", rows, " rows");
  if (a.rank() > 2) {
    const Shape batch = broadcast(op, batch_of(a.shape()), batch_of(b.shape()));
    return f(expand_batch(a, batch), expand_batch(b, batch));
  }
  if (b.rank() == 2) return f(a, b);
  Dims to_front{b.rank() - 2}, back;
  for (int i = 0; i < b.rank() - 2; ++i) to_front.push_back(i), back.push_back(i + 1);
  to_front.push_back(b.rank() - 1);
  back.push_back(0);
  back.push_back(b.rank() - 1);
  const Value x = f(a, reshape(permute(b, to_front), {rows, multiply_sizes(op, numel(batch_of(b.shape())), columns)}));
  Shape apart{rows_of(x.shape())};
  for (const auto size : batch_of(b.shape())) apart.push_back(size);
  apart.push_back(columns);
  return permute(reshape(x, apart), back);
}

}  // namespace

Value cholesky(const Value& a, bool upper) {
  const Precision precision("cholesky", a);
  const Value l = precision.leave(emit(op::Cholesky{}, {symmetric_part("cholesky", precision.enter(a))}));
  return upper ? transpose(l) : l;
}

LuFactors lu_factor(const Value& a) {
  const Precision precision("lu", a);
  const Values results = emit_all(op::Lu{}, {precision.enter(a)});
  return {precision.leave(results[op::Lu::packed]), results[op::Lu::permutation],
          precision.leave(results[op::Lu::sign])};
}

LuResult lu(const Value& a) {
  const LuFactors factors = lu_factor(a);
  const std::int64_t rows = a.dim(-2), k = std::min(rows, a.dim(-1));
  const Value l = tril(narrow(factors.packed, -1, 0, k), -1);
  const Value ones = diag_embed(full({k}, 1.0, a.device(), l.dtype()));
  // Column i of p has its 1 in row permutation[i].
  const Value row = unsqueeze(arange(0, rows, 1, a.device()), 1);
  return {cast(eq(row, unsqueeze(factors.permutation, -2)), l.dtype()), l + pad(ones, {0, 0}, {rows - k, 0}),
          triu(narrow(factors.packed, -2, 0, k))};
}

QrResult qr(const Value& a, bool complete) {
  const Precision precision("qr", a);
  const Values results = emit_all(op::Qr{complete}, {precision.enter(a)});
  return {precision.leave(results[op::Qr::q]), precision.leave(results[op::Qr::r])};
}

EighResult eigh(const Value& a) {
  const Precision precision("eigh", a);
  const Values results = emit_all(op::Eigh{true}, {symmetric_part("eigh", precision.enter(a))});
  return {precision.leave(results[op::Eigh::w]), precision.leave(results[op::Eigh::v])};
}

Value eigvalsh(const Value& a) {
  const Precision precision("eigvalsh", a);
  return precision.leave(emit(op::Eigh{false}, {symmetric_part("eigvalsh", precision.enter(a))}));
}

SvdResult svd(const Value& a, bool full) {
  const Precision precision("svd", a);
  const Values results = emit_all(op::Svd{full ? op::SvdForm::Full : op::SvdForm::Reduced}, {precision.enter(a)});
  return {precision.leave(results[op::Svd::u]), precision.leave(results[op::Svd::s]),
          precision.leave(results[op::Svd::vt])};
}

Value svdvals(const Value& a) {
  const Precision precision("svd", a);
  return precision.leave(emit(op::Svd{op::SvdForm::Values}, {precision.enter(a)}));
}

Value solve(const Value& a, const Value& b) {
  const Precision precision("solve", {a, b});
  return precision.leave(
      each_right_side("solve", precision.enter(a), precision.enter(b),
                      [](const Value& left, const Value& right) { return emit(op::Solve{}, {left, right}); }));
}

Value inverse(const Value& a) {
  const Precision precision("inverse", a);
  return precision.leave(emit(op::Solve{}, {precision.enter(a), Value()}));
}

Value triangular_solve(const Value& a, const Value& b, const TriangularOptions& options) {
  const Precision precision("triangular_solve", {a, b});
  const auto emit_op = [&](bool upper) {
    return [&, upper](const Value& left, const Value& right) {
      return emit(op::TriangularSolve{upper, options.unit}, {left, right});
    };
  };
  const Value x = precision.enter(a), y = precision.enter(b);
  if (options.left) return precision.leave(each_right_side("triangular_solve", x, y, emit_op(options.upper)));
  // x a = b is aᵀ xᵀ = bᵀ; a vector is treated as a row.
  const Value turned =
      each_right_side("triangular_solve", transpose(x), y.rank() < 2 ? y : transpose(y), emit_op(!options.upper));
  return precision.leave(y.rank() < 2 ? turned : transpose(turned));
}

Value cholesky_solve(const Value& l, const Value& b, bool upper) {
  if (b.rank() == 1) return squeeze(cholesky_solve(l, unsqueeze(b, 1), upper), -1);
  const Value lower = upper ? transpose(l) : l;
  return triangular_solve(transpose(lower), triangular_solve(lower, b), {.upper = true});
}

Value lu_solve(const LuFactors& factors, const Value& b, const LuSolveOptions& options) {
  const Precision precision("lu_solve", {factors.packed, b});
  const Value packed = precision.enter(factors.packed), right = precision.enter(b);
  op::require_square("lu_solve", packed);
  if (right.rank() == 1)
    return squeeze(lu_solve(factors, unsqueeze(b, options.left ? 1 : 0), options), options.left ? -1 : -2);
  require<ShapeError>(right.rank() >= 2, "lu_solve: the right side needs a dimension, got ", b);
  const std::int64_t size = options.left ? rows_of(right.shape()) : columns_of(right.shape());
  require<ShapeError>(size == rows_of(packed.shape()), "lu_solve: ", packed.shape(), " and the right side ",
                      right.shape(), " do not fit");
  // x a = b is aᵀ xᵀ = bᵀ.
  if (!options.left)
    return precision.leave(
        transpose(lu_solve({packed, factors.permutation, {}}, transpose(right), {.adjoint = !options.adjoint})));
  const Shape batch = broadcast("lu_solve", batch_of(packed.shape()), batch_of(right.shape()));
  const Value rows = expand_batch(right, batch);
  const Value places = expand(unsqueeze(factors.permutation, -1), rows.shape());
  if (options.adjoint) {  // uᵀ lᵀ p x = b
    const Value turned = transpose(packed);
    const Value permuted = triangular_solve(turned, triangular_solve(turned, rows), {.upper = true, .unit = true});
    return precision.leave(scatter(zeros_like(permuted), -2, places, permuted));
  }
  const Value permuted = gather(rows, -2, places);
  return precision.leave(triangular_solve(packed, triangular_solve(packed, permuted, {.unit = true}), {.upper = true}));
}

}  // namespace kiln
