#include "kiln/ops/linalg/linalg.hpp"

#include "tests/golden/golden.hpp"

namespace kiln::golden {
namespace {

Value definite(const Value& x) {
  const Value square = matmul(x, transpose(x)), i = arange(0, x.dim(-2), 1, x.device());
  return square + cast(eq(i, unsqueeze(i, 1)), x.dtype());
}

Values of(const QrResult& x) { return {x.q, x.r}; }
Values of(const SvdResult& x) { return {x.u, x.s, x.vt}; }
Values of(const EighResult& x) { return {x.w, x.v}; }
Values of(const LuResult& x) { return {x.p, x.l, x.u}; }
Values of(const SlogdetResult& x) { return {x.sign, x.log_abs}; }

Row norm(const char* name, MatrixNorm kind) {
  return {text("matrix_norm.", name), [kind](In in) { return matrix_norm(in[0], kind); }};
}
Row norm(const char* name, double p) {
  return {text("vector_norm.", name), [p](In in) { return vector_norm(in[0], p, {1}); }};
}
Row sum_of(const char* name, const char* expression) {
  return {text("einsum.", name), [expression](In in) { return einsum(expression, in); }};
}

const Rows kLinalg({
    {"cholesky", [](In in) { return cholesky(definite(in[0])); }, 4},
    {"cholesky.upper", [](In in) { return cholesky(definite(in[0]), true); }, 4},
    {"cholesky_solve", [](In in) { return cholesky_solve(cholesky(definite(in[0])), in[1]); }, 100},
    {"qr", [](In in) { return of(qr(in[0])); }, 10},
    {"qr.wide", [](In in) { return of(qr(in[0])); }, 10},
    {"svd", [](In in) { return of(svd(in[0])); }, 100},
    {"svd.wide", [](In in) { return of(svd(in[0])); }, 100},
    {"svdvals", [](In in) { return svdvals(in[0]); }, 10},
    {"eigh", [](In in) { return of(eigh(in[0] + transpose(in[0]))); }, 100},
    {"eigvalsh", [](In in) { return eigvalsh(in[0] + transpose(in[0])); }, 10},
    {"lu", [](In in) { return of(lu(in[0])); }, 10},
    {"lu.tall", [](In in) { return of(lu(in[0])); }, 10},
    {"lu.wide", [](In in) { return of(lu(in[0])); }, 10},
    {"lu_factor", [](In in) { return lu_factor(in[0]).packed; }, 10},
    {"lu_solve", [](In in) { return lu_solve(lu_factor(in[0]), in[1]); }, 100},
    {"solve", [](In in) { return solve(in[0], in[1]); }, 100},
    {"solve.vector", [](In in) { return solve(in[0], in[1]); }, 100},
    {"inverse", [](In in) { return inverse(in[0]); }, 100},
    {"triangular_solve", [](In in) { return triangular_solve(in[0], in[1]); }, 100},
    {"triangular_solve.right",
     [](In in) { return triangular_solve(in[0], in[1], {.upper = true, .unit = true, .left = false}); }, 10},
    {"lstsq", [](In in) { return lstsq(in[0], in[1]); }, 100},
    {"lstsq.wide", [](In in) { return lstsq(in[0], in[1]); }, 100},
    {"pinv", [](In in) { return pinv(in[0]); }, 100},
    {"det", [](In in) { return det(in[0]); }, 4},
    {"slogdet", [](In in) { return of(slogdet(in[0])); }, 100},
    {"matrix_power", [](In in) { return matrix_power(in[0], 5); }, 20},
    {"matrix_power.inverse", [](In in) { return matrix_power(in[0], -2); }, 200},
    {"matrix_exp", [](In in) { return matrix_exp(in[0]); }, 10},
    {"matrix_rank", [](In in) { return matrix_rank(matmul(in[0], in[1])); }},
    {"cond", [](In in) { return cond(in[0]); }, 100},
    norm("frobenius", MatrixNorm::Frobenius),
    norm("nuclear", MatrixNorm::Nuclear),
    norm("spectral", MatrixNorm::Spectral),
    norm("one", MatrixNorm::One),
    norm("infinity", MatrixNorm::Infinity),
    norm("2", 2.0),
    norm("3", 3.0),
    norm("0", 0.0),
    norm("half", 0.5),
    norm("infinity", kInfinity),
    norm("minus_infinity", -kInfinity),
    {"vector_normalize", [](In in) { return vector_normalize(in[0]); }},
    {"cosine_similarity", [](In in) { return cosine_similarity(in[0], in[1]); }},
    {"cdist", [](In in) { return cdist(in[0], in[1]); }},
    {"cdist.1", [](In in) { return cdist(in[0], in[1], 1); }},
    {"pairwise_distance", [](In in) { return pairwise_distance(in[0], in[1]); }},
    sum_of("bilinear", "bi,oij,bj->bo"),
    sum_of("ellipsis", "...ij,jk->...ki"),
    sum_of("diagonal", "iij->ji"),
    sum_of("trace", "ii"),
    sum_of("implicit", "ca,ab"),
    sum_of("chain", "ab,bc,cd,da->"),
    {"tensordot", [](In in) { return tensordot(in[0], in[1], {0, 2}, {1, 0}); }},
    {"kron", [](In in) { return kron(in[0], in[1]); }},
    {"outer", [](In in) { return outer(in[0], in[1]); }},
    {"cross", [](In in) { return cross(in[0], in[1]); }},
    {"vecdot", [](In in) { return vecdot(in[0], in[1]); }},
    {"matvec", [](In in) { return matvec(in[0], in[1]); }},
    {"addmm", [](In in) { return addmm(in[0], in[1], in[2], {.beta = 0.5, .alpha = 2}); }},
    {"baddbmm", [](In in) { return baddbmm(in[0], in[1], in[2]); }},
    {"multi_dot", [](In in) { return multi_dot(in); }},
});

}  // namespace
}  // namespace kiln::golden
