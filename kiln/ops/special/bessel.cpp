#include "kiln/ops/special/bessel.hpp"

#include <cmath>

#include "kiln/ops/special/functions.hpp"

namespace kiln::special {
namespace {

/// The even and the odd terms of sum over k of a_k(order) / x^k (DLMF 10.17.1); where `alternating`, with the signs of
/// the power series of cosine and sine, otherwise with their own.
struct Hankel {
  double even = 1, odd = 0;
  Hankel(int order, double x, bool alternating) {
    double term = 1;
    for (int k = 1; k < 60 && std::abs(term) > 1e-18; ++k) {
      term *= (4.0 * order - (2.0 * k - 1) * (2.0 * k - 1)) / (8 * k * x);
      (k % 2 == 0 ? even : odd) += alternating && k / 2 % 2 != 0 ? -term : term;
    }
  }
};

/// J and Y of orders 0 and 1 at x > 0.
struct Bessel {
  double j0 = 1, j1 = 0, y0 = 0, y1 = 0;

  explicit Bessel(double x) {
    if (x == kInfinity) j0 = 0;
    else if (x >= kBesselFar) far(x);
    else if (x < 1e-9) near(x);
    else recur(x);
  }

 private:
  void near(double x) {
    j1 = x / 2;
    y0 = 2 / kPi * (std::log(x / 2) + kEuler);
    y1 = -2 / kPi / x;
  }
  void far(double x) {
    // cos(x - pi / 4) and sin(x - pi / 4), and these a quarter turn later, times the square root of 2
    const double plus = std::cos(x) + std::sin(x), minus = std::sin(x) - std::cos(x);
    const Hankel p(0, x, true), q(1, x, true);
    const double scale = 1 / std::sqrt(kPi * x);
    j0 = scale * (p.even * plus - p.odd * minus);
    y0 = scale * (p.even * minus + p.odd * plus);
    j1 = scale * (q.even * minus + q.odd * plus);
    y1 = scale * (q.odd * minus - q.even * plus);
  }
  /// Miller's method: the recurrence downwards from an order at which the function is practically 0, scaled by
  /// J0 + 2 J2 + 2 J4 + ... = 1. Y0 is Neumann's series in J (DLMF 10.8.3 and 10.23), Y1 its derivative.
  void recur(double x) {
    const int top = x < 1 ? 20 : 30 + 2 * static_cast<int>(0.75 * x);
    double above = 0, j = 1e-290, sum = 0, neumann = 0, slope = 0;
    for (int n = top; n >= 0; --n) {  // j is J(n) and `above` J(n + 1), up to a scale
      const double below = 2 * n / x * j - above;
      if (n > 0 && n % 2 == 0) {
        const int half = n / 2;
        const double weight = (half % 2 == 0 ? 1.0 : -1.0) / half;
        sum += 2 * j;
        neumann += weight * j;
        slope += weight * (below - above) / 2;
      }
      if (n == 0) break;
      above = j;
      j = below;
    }
    sum += j;
    j0 = j / sum;
    j1 = above / sum;
    const double log = std::log(x / 2) + kEuler;
    y0 = 2 / kPi * (log * j0 - 2 * neumann / sum);
    y1 = 2 / kPi * (log * j1 - j0 / x + 2 * slope / sum);
  }
};

/// J (sign -1) or I (sign 1) of order 0 or 1, divided by (x / 2)^order; even and odd terms are summed separately.
template <int order, int sign>
double near(double x) {
  constexpr const BesselSeries& kSeries = kBesselSeries<order, sign>;
  const double z = x * x / 4;
  double even = 0, odd = 0;
  for (std::size_t k = kSeries.size(); k > 0; k -= 2) {
    even = even * (z * z) + kSeries[k - 2];
    odd = odd * (z * z) + kSeries[k - 1];
  }
  return even + odd * z;
}

double second_kind(double x, double Bessel::* which) {
  if (!(x > 0)) return x == 0 ? -kInfinity : kNan;
  return x == kInfinity ? 0 : Bessel(x).*which;
}

/// exp(-|x|) I(order, |x|)
double scaled_i(int order, double size) {
  if (size <= kBesselNear) return std::exp(-size) * (order == 0 ? near<0, 1>(size) : size / 2 * near<1, 1>(size));
  if (size < 20) return std::exp(-size) * bessel_i(order, size);
  const Hankel terms(order, size, false);
  return size == kInfinity ? 0 : (terms.even - terms.odd) / std::sqrt(2 * kPi * size);
}

/// exp(x) K(order, x)
double scaled_k(int order, double x) {
  if (!(x > 0)) return x == 0 ? kInfinity : kNan;
  if (x >= kBesselFar) {
    const Hankel terms(order, x, false);
    return x < kInfinity ? std::sqrt(kPi / (2 * x)) * (terms.even + terms.odd) : 0;
  }
  if (x < 1) {  // DLMF 10.31.1 and 10.31.2
    const double square = x * x / 4, log = std::log(x / 2);
    double sum = 0, term = 1, digammas = order == 0 ? -kEuler : 1 - 2 * kEuler;
    for (int k = 0; k < 20; ++k) {
      sum += term * digammas;
      term *= square / ((k + 1.0) * (k + 1 + order));
      digammas += order == 0 ? 1.0 / (k + 1) : 1.0 / (k + 1) + 1.0 / (k + 2);
    }
    return std::exp(x) * (order == 0 ? sum - log * bessel_i(0, x) : 1 / x + log * bessel_i(1, x) - x / 4 * sum);
  }
  // The integral over t of exp(-x (cosh t - 1)) cosh(order t) (DLMF 10.32.9). It falls so fast that equal steps are
  // exact up to rounding.
  constexpr double kStep = 0.125;
  double sum = 0.5;
  for (int i = 1; i < 60; ++i) {
    const double t = kStep * i, half = std::sinh(t / 2);
    const double value = std::exp(-2 * x * half * half) * (order == 0 ? 1 : std::cosh(t));
    sum += value;
    if (value < 1e-18) break;
  }
  return kStep * sum;
}

}  // namespace

double bessel_j0(double x) { return !(std::abs(x) > kBesselNear) ? near<0, -1>(x) : Bessel(std::abs(x)).j0; }
double bessel_j1(double x) {
  return !(std::abs(x) > kBesselNear) ? x / 2 * near<1, -1>(x) : std::copysign(1, x) * Bessel(std::abs(x)).j1;
}
double bessel_y0(double x) { return second_kind(x, &Bessel::y0); }
double bessel_y1(double x) { return second_kind(x, &Bessel::y1); }
double i0e(double x) { return scaled_i(0, std::abs(x)); }
double i1e(double x) { return std::copysign(scaled_i(1, std::abs(x)), x); }
double scaled_modified_bessel_k0(double x) { return scaled_k(0, x); }
double scaled_modified_bessel_k1(double x) { return scaled_k(1, x); }
double modified_bessel_k0(double x) { return std::exp(-x) * scaled_k(0, x); }
double modified_bessel_k1(double x) { return std::exp(-x) * scaled_k(1, x); }
double spherical_bessel_j0(double x) { return x == 0 ? 1 : std::abs(x) < kInfinity || x != x ? std::sin(x) / x : 0; }

}  // namespace kiln::special
