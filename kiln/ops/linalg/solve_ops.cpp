#include "kiln/ops/linalg/solve_ops.hpp"

#include "kiln/ops/check.hpp"
#include "kiln/ops/linalg/cofactors.hpp"
#include "kiln/ops/linalg/linalg.hpp"
#include "kiln/ops/linalg/matrix.hpp"
#include "kiln/ops/view/diagonal.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln::op {
namespace {

void require_right_side(std::string_view op, const Value& a, const Value& b) {
  require_matrix(op, b);
  require_same_dtype(op, a, b);
  require<ShapeError>(batch_of(a.shape()) == batch_of(b.shape()) && columns_of(a.shape()) == rows_of(b.shape()), op,
                      ": ", a.shape(), " and the right side ", b.shape(), " do not fit");
}

}  // namespace

std::string_view Solve::called_function(Inputs in) { return in[b].empty() ? "inverse" : kName; }

Descs Solve::infer(Inputs in) const {
  require_count(kName, in, 2, 2);
  const std::string_view name = called_function(in);
  require_square(name, in[a]);
  if (in[b].empty()) return one(in[a].shape(), in[a].dtype());
  require_right_side(name, in[a], in[b]);
  return one(in[b].shape(), in[b].dtype());
}

void Solve::vjp(Backward& backward) const {
  const Value x = backward.out();
  if (backward.in_desc(b).shape.empty()) {  // the inverse
    backward.to(a, [&] { return -matmul(transpose(x), matmul(backward.grad(), transpose(x))); });
    return;
  }
  const Value g_b = solve(transpose(backward.in(a)), backward.grad());
  backward.to(a, [&] { return -matmul(g_b, transpose(x)); });
  backward.to(b, [&] { return g_b; });
}

Descs TriangularSolve::infer(Inputs in) const {
  require_count(kName, in, 2, 2);
  require_square(kName, in[a]);
  require_right_side(kName, in[a], in[b]);
  return one(in[b].shape(), in[b].dtype());
}

void TriangularSolve::vjp(Backward& backward) const {
  const Value g_b = triangular_solve(transpose(backward.in(a)), backward.grad(), {.upper = !upper, .unit = unit});
  backward.to(a, [&] {
    const Value g = -matmul(g_b, transpose(backward.out()));
    return upper ? triu(g, unit ? 1 : 0) : tril(g, unit ? -1 : 0);
  });
  backward.to(b, [&] { return g_b; });
}

Descs Det::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_square(kName, in[0]);
  return one(batch_of(in[0].shape()), in[0].dtype());
}

Values Det::expand(Inputs in) const {
  const LuFactors factors = lu_factor(in[0]);
  return {factors.sign * prod(diagonal(factors.packed), {-1})};
}

void Det::vjp(Backward& backward) const {
  backward.to(
      0, [&] { return unsqueeze(unsqueeze(backward.grad(), -1), -1) * cofactors(backward.in(0), backward.out()); });
}

}  // namespace kiln::op
