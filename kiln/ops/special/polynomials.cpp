// Polynomials by their three-term recurrences (DLMF 18.9.1), upwards.
#include <cmath>

#include "kiln/ops/special/functions.hpp"

namespace kiln::special {
namespace {

/// The polynomial of this degree, starting from degree 1 (`first`); next(k, p, before) is that of degree k + 1. Where
/// the numbers overflow the result is infinite, with the sign of the polynomial beyond all zeros on the side of x.
template <class Next>
double recur(double x, double degree, double first, Next next) {
  degree = std::trunc(degree);
  if (degree < 0) return x == x ? 0 : x;
  if (!(degree <= 1e6)) return kNan;
  double before = x == x ? 1 : x, p = degree == 0 ? before : first;
  for (double k = 1; k < degree; ++k) {
    const double after = next(k, p, before);
    before = p;
    p = after;
    if (!(std::abs(p) < kInfinity)) return x < 0 && std::fmod(degree - k - 1, 2) != 0 ? -p : p;
  }
  return p;
}

double chebyshev(double x, double degree, double first) {
  return recur(x, degree, first, [x](double, double p, double before) { return 2 * x * p - before; });
}

}  // namespace

double chebyshev_t(double x, double degree) { return chebyshev(x, degree, x); }
double chebyshev_u(double x, double degree) { return chebyshev(x, degree, 2 * x); }
double chebyshev_v(double x, double degree) { return chebyshev(x, degree, 2 * x - 1); }
double chebyshev_w(double x, double degree) { return chebyshev(x, degree, 2 * x + 1); }

double hermite_h(double x, double degree) {
  return recur(x, degree, 2 * x, [x](double k, double p, double before) { return 2 * (x * p - k * before); });
}
double hermite_he(double x, double degree) {
  return recur(x, degree, x, [x](double k, double p, double before) { return x * p - k * before; });
}
double legendre_p(double x, double degree) {
  return recur(x, degree, x,
               [x](double k, double p, double before) { return ((2 * k + 1) * x * p - k * before) / (k + 1); });
}
double laguerre_l(double x, double degree) { return generalized_laguerre_l(x, degree, 0); }

double gegenbauer_c(double x, double degree, double lambda) {
  return recur(x, degree, 2 * lambda * x, [=](double k, double p, double before) {
    return (2 * (k + lambda) * x * p - (k + 2 * lambda - 1) * before) / (k + 1);
  });
}
double generalized_laguerre_l(double x, double degree, double alpha) {
  // It has no parity: far to the left it is positive, far to the right its sign alternates.
  return recur(-x, degree, 1 + alpha - x, [=](double k, double p, double before) {
    return ((2 * k + 1 + alpha - x) * p - (k + alpha) * before) / (k + 1);
  });
}

}  // namespace kiln::special
