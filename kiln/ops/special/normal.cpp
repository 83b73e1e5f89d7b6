#include <cmath>

#include "kiln/ops/special/functions.hpp"

namespace kiln::special {
namespace {

constexpr double kRootHalf = 0.7071067811865476;

/// exp(factor * x^2), including the digits of the square that rounding drops.
double exp_of_square(double x, double factor) {
  const double square = x * x, rest = std::fma(x, x, -square);
  return std::exp(factor * square) * (1 + factor * rest);
}

}  // namespace

double erfcx(double x) {
  if (x < 0) return x < -27 ? kInfinity : 2 * exp_of_square(x, 1) - erfcx(-x);
  if (x < 26) return exp_of_square(x, 1) * std::erfc(x);
  // DLMF 7.12.1. From 26 on the terms fall below rounding before they grow again.
  const double s = 0.5 / (x * x);
  return 0.5641895835477563 / x * (1 - s * (1 - s * (3 - s * (15 - s * (105 - s * (945 - s * 10395))))));
}

double ndtr(double x) {
  if (!(x < -1)) return 0.5 * std::erfc(-x * kRootHalf);
  return x < -40 ? 0 : 0.5 * erfcx(-x * kRootHalf) * exp_of_square(x, -0.5);
}

double log_ndtr(double x) {
  return x < -1 ? std::log(0.5 * erfcx(-x * kRootHalf)) - 0.5 * x * x : std::log1p(-ndtr(-x));
}

/// The quantile: in the middle by erfinv, outside by Newton's method for the logarithm, which is concave, so that from the left the
/// steps approach the root without passing it.
double ndtri(double share) {
  if (!(share > 0 && share < 1)) return share == 0 ? -kInfinity : share == 1 ? kInfinity : kNan;
  if (share > 0.9) return -ndtri(1 - share);
  if (share >= 0.1) return erfinv(2 * share - 1) / kRootHalf;
  const double target = std::log(share);
  double x = -std::sqrt(-2 * target);
  for (int step = 0; step < 20; ++step) {
    const double slope = 0.7978845608028654 / erfcx(-x * kRootHalf), change = (target - log_ndtr(x)) / slope;
    x += change;
    if (!(std::abs(change) > 1e-16 * std::abs(x))) break;
  }
  return x;
}

}  // namespace kiln::special
