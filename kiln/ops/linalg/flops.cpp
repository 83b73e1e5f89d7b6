// Additions and multiplications of the usual matrix algorithms, leading terms only (Golub and Van Loan, "Matrix
// Computations", 4th edition: 3.2, 3.1, 4.2, 5.2, 8.3, 8.6). A library with another algorithm may need more or fewer.
#include <algorithm>

#include "kiln/ops/linalg/factor_ops.hpp"
#include "kiln/ops/linalg/matrix.hpp"
#include "kiln/ops/linalg/solve_ops.hpp"
#include "kiln/ops/linalg/spectrum_ops.hpp"

namespace kiln::op {
namespace {

struct Size {
  double matrices, m, n;
  double least() const { return std::min(m, n); }
  double most() const { return std::max(m, n); }
};

Size size_of(const Value& a) {
  const Shape& shape = a.shape();
  return {static_cast<double>(numel(batch_of(shape))), static_cast<double>(rows_of(shape)),
          static_cast<double>(columns_of(shape))};
}

double of_lu(const Size& a) {
  const double k = a.least();
  return a.matrices * (2 * a.m * a.n * k - (a.m + a.n) * k * k + 2 * k * k * k / 3);
}

}  // namespace

double Cholesky::flops(Inputs in, Inputs) const {
  const Size a = size_of(in[0]);
  return a.matrices * a.n * a.n * a.n / 3;
}

double Lu::flops(Inputs in, Inputs) const { return of_lu(size_of(in[0])); }

/// Householder's R, and as much again for the thin Q; a complete Q has the remaining columns too.
double Qr::flops(Inputs in, Inputs) const {
  const Size a = size_of(in[0]);
  const double k = a.least(), r = 2 * a.m * a.n * k - (a.m + a.n) * k * k + 2 * k * k * k / 3;
  return a.matrices * (r + 2 * a.m * k * (complete ? a.m : k) - 2 * k * k * k / 3);
}

double Solve::flops(Inputs in, Inputs out) const {
  const Size a = size_of(in[Solve::a]);
  return of_lu(a) + 2 * static_cast<double>(out[0].numel()) * a.n;
}

double TriangularSolve::flops(Inputs in, Inputs out) const {
  return static_cast<double>(out[0].numel()) * size_of(in[a]).n;
}

double Det::flops(Inputs in, Inputs) const { return of_lu(size_of(in[0])); }

double Eigh::flops(Inputs in, Inputs) const {
  const Size a = size_of(in[0]);
  return a.matrices * (vectors ? 9.0 : 4.0 / 3) * a.n * a.n * a.n;
}

double Svd::flops(Inputs in, Inputs) const {
  const Size a = size_of(in[0]);
  const double m = a.most(), n = a.least();
  switch (form) {
    case SvdForm::Values: return a.matrices * (4 * m * n * n - 4 * n * n * n / 3);
    case SvdForm::Reduced: return a.matrices * (14 * m * n * n + 8 * n * n * n);
    case SvdForm::Full: break;
  }
  return a.matrices * (4 * m * m * n + 8 * m * n * n + 9 * n * n * n);
}

double Pinv::flops(Inputs in, Inputs out) const {
  const Size a = size_of(in[0]);
  return Svd{SvdForm::Reduced}.flops(in, out) + 2 * a.matrices * a.m * a.n * a.least();
}

}  // namespace kiln::op
