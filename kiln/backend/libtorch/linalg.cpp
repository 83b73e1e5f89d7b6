// Factorisations, equations and spectra of matrices, by ATen's LAPACK. Matrices that have no such thing (singular, not
// positive definite, not finite) are left to the reference, which names them.
#include "kiln/backend/cpu/orientation.hpp"
#include "kiln/backend/libtorch/kernels.hpp"
#include "kiln/backend/libtorch/tensor.hpp"
#include "kiln/ops/linalg/factor_ops.hpp"
#include "kiln/ops/linalg/solve_ops.hpp"
#include "kiln/ops/linalg/spectrum_ops.hpp"

namespace kiln::libtorch {
namespace {

bool is_finite(const at::Tensor& x) { return at::isfinite(x).all().item<bool>(); }
bool succeeded(const at::Tensor& info) { return !info.ne(0).any().item<bool>(); }

/// The factor (1 or -1) of each column of u [..., m, k] by Kiln's rule of signs.
at::Tensor signs(const at::Tensor& u) {
  const at::Tensor rows = u.to(at::kDouble).mT().contiguous().view({-1, u.size(-2)});
  const at::Tensor factors = at::ones({rows.size(0)}, at::kDouble);
  for (std::int64_t i = 0; i < rows.size(0); ++i)
    if (cpu::points_backwards(rows.data_ptr<double>() + i * rows.size(1), rows.size(1), 1))
      factors.data_ptr<double>()[i] = -1;
  std::vector<std::int64_t> shape = u.sizes().vec();
  shape.erase(shape.end() - 2);
  return factors.view(shape).to(u.scalar_type());
}

/// The permutation and its sign of LAPACK's exchanges: row i with row pivots[i] - 1, one after the other.
void permute(const at::Tensor& pivots, const at::Tensor& permutation, const at::Tensor& sign) {
  const std::int64_t rows = permutation.size(-1), steps = pivots.size(-1);
  const auto* exchange = pivots.data_ptr<std::int32_t>();
  auto* place = permutation.data_ptr<std::int64_t>();
  auto* parity = sign.data_ptr<double>();
  for (std::int64_t matrix = 0; matrix < permutation.numel() / rows; ++matrix, place += rows, exchange += steps)
    for (std::int64_t i = 0; i < steps; ++i) {
      if (exchange[i] - 1 == i) continue;
      std::swap(place[i], place[exchange[i] - 1]);
      parity[matrix] = -parity[matrix];
    }
}

}  // namespace

bool run(const op::Cholesky&, Call call) {
  const at::Tensor a = computed(call.in[0]);
  if (!is_finite(a)) return false;
  const auto [l, info] = at::linalg_cholesky_ex(a);
  if (!succeeded(info)) return false;
  give(call.out[0], l);
  return true;
}

bool run(const op::Lu&, Call call) {
  using op::Lu;
  const at::Tensor a = computed(call.in[0]);
  const auto [packed, pivots, info] = at::linalg_lu_factor_ex(a);
  std::vector<std::int64_t> batch(a.sizes().begin(), a.sizes().end() - 2), rows = batch;
  rows.push_back(a.size(-2));
  const at::Tensor permutation = at::arange(a.size(-2), at::kLong).expand(rows).contiguous();
  const at::Tensor sign = at::ones(batch, at::kDouble);
  permute(pivots.contiguous(), permutation, sign);
  give(call.out[Lu::packed], packed);
  give(call.out[Lu::permutation], permutation);
  give(call.out[Lu::sign], sign);
  return true;
}

bool run(const op::Qr& op, Call call) {
  using op::Qr;
  const at::Tensor a = computed(call.in[0]);
  if (!is_finite(a)) return false;
  auto [q, r] = at::linalg_qr(a, op.complete ? "complete" : "reduced");
  const at::Tensor diagonal = r.diagonal(0, -2, -1);
  const at::Tensor sign = at::where(at::lt(diagonal, 0), -at::ones_like(diagonal), at::ones_like(diagonal));
  const std::int64_t k = sign.size(-1);
  q.narrow(-1, 0, k).mul_(sign.unsqueeze(-2));
  r.narrow(-2, 0, k).mul_(sign.unsqueeze(-1));
  give(call.out[Qr::q], q);
  give(call.out[Qr::r], r);
  return true;
}

bool run(const op::Solve&, Call call) {
  using op::Solve;
  const at::Tensor a = computed(call.in[Solve::a]);
  const bool inverse = call.in.size() <= Solve::b || call.in[Solve::b].empty();
  const auto [x, info] = inverse ? at::linalg_inv_ex(a) : at::linalg_solve_ex(a, computed(call.in[Solve::b]));
  if (!succeeded(info)) return false;
  give(call.out[0], x);
  return true;
}

bool run(const op::Det&, Call call) {
  give(call.out[0], at::linalg_det(computed(call.in[0])));
  return true;
}

bool run(const op::TriangularSolve& op, Call call) {
  using op::TriangularSolve;
  const at::Tensor a = computed(call.in[TriangularSolve::a]);
  if (!op.unit && a.diagonal(0, -2, -1).eq(0).any().item<bool>()) return false;
  give(call.out[0], at::linalg_solve_triangular(a, computed(call.in[TriangularSolve::b]), op.upper, true, op.unit));
  return true;
}

bool run(const op::Eigh& op, Call call) {
  using op::Eigh;
  const at::Tensor a = computed(call.in[0]);
  if (!is_finite(a)) return false;
  if (!op.vectors) {
    give(call.out[Eigh::w], at::linalg_eigvalsh(a));
    return true;
  }
  const auto [w, v] = at::linalg_eigh(a);
  give(call.out[Eigh::w], w);
  give(call.out[Eigh::v], v * signs(v).unsqueeze(-2));
  return true;
}

bool run(const op::Svd& op, Call call) {
  using op::Svd;
  const at::Tensor a = computed(call.in[0]);
  if (!is_finite(a)) return false;
  if (op.form == op::SvdForm::Values) {
    give(call.out[0], at::linalg_svdvals(a));
    return true;
  }
  const auto [u, s, vt] = at::linalg_svd(a, op.form == op::SvdForm::Full);
  const std::int64_t k = s.size(-1);
  const at::Tensor sign = signs(u.narrow(-1, 0, k));
  u.narrow(-1, 0, k).mul_(sign.unsqueeze(-2));
  vt.narrow(-2, 0, k).mul_(sign.unsqueeze(-1));
  give(call.out[Svd::u], u);
  give(call.out[Svd::s], s);
  give(call.out[Svd::vt], vt);
  return true;
}

}  // namespace kiln::libtorch
