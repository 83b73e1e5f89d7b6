#include <cmath>

#include "kiln/ops/special/functions.hpp"

namespace kiln::special {
namespace {

constexpr double kTiny = 1e-17;  // relative to 1

/// mu - log(1 + mu), which is nearly mu^2 / 2: with s = mu / (2 + mu), log(1 + mu) is 2 atanh(s).
double log_excess(double mu) {
  if (mu > 0.5 || mu < -0.5) return mu - std::log1p(mu);
  const double s = mu / (2 + mu), square = s * s;
  double sum = 0, power = 2 * s * square;
  for (int k = 3; std::abs(power) > kTiny * std::abs(sum); k += 2, power *= square) sum += power / k;
  return s * mu - sum;
}

/// log Gamma(a) without (a - 1/2) log(a) - a + log(2 pi) / 2: the rest of Stirling's series.
double stirling_rest(double a) {
  if (a < 10) return lgamma(a) - ((a - 0.5) * std::log(a) - a + 0.9189385332046727);
  const double s = 1 / (a * a);
  double sum = 1.0 / 156;
  for (const double c : {-691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12}) sum = sum * s + c;
  return sum / a;
}

/// x^a exp(-x) / Gamma(a); from 10 on by Stirling's series, so that no large powers are multiplied.
double last_factor(double a, double x) {
  if (a < 10) return std::pow(x, a) * std::exp(-x) / std::tgamma(a);
  return std::sqrt(a / (2 * kPi)) * std::exp(-a * log_excess((x - a) / a) - stirling_rest(a));
}

/// The lower function by its power series (DLMF 8.7.1): all terms are positive.
double lower_series(double a, double x) {
  double sum = 1, term = 1;
  for (double n = 1; term > kTiny * sum; ++n) sum += term *= x / (a + n);
  return last_factor(a, x) / a * sum;
}

/// The upper function by its continued fraction (DLMF 8.9.2), with Lentz's method.
double upper_fraction(double a, double x) {
  double b = x + 1 - a, c = 1e300, d = 1 / b, value = d;
  for (double n = 1; n < 100000; ++n) {
    const double an = -n * (n - a);
    b += 2;
    d = 1 / (an * d + b);
    c = b + an / c;
    value *= c * d;
    if (std::abs(c * d - 1) < 1e-16) break;
  }
  return last_factor(a, x) * value;
}

/// The upper function for x up to 1.1, where the lower one may be close to 1: 1 - x^a / Gamma(1 + a) (1 + a * series).
double upper_series(double a, double x) {
  double sum = 0, term = 1;
  for (int n = 1; n < 100 && std::abs(term) > kTiny * std::abs(sum); ++n) {
    term *= -x / n;
    sum += term / (a + n);
  }
  const double log_first = a * std::log(x) - (a < 1 ? lgamma_near_one(a) : lgamma(1 + a));
  return -std::expm1(log_first) - std::exp(log_first) * a * sum;
}

/// Takes a from 1000 on and x near it, for which the other methods take long (Temme, "The asymptotic expansion of the
/// incomplete gamma functions", 1979; DLMF 8.12). The upper function if `upper`, else the lower.
double near_large(double a, double mu, bool upper) {
  const double excess = log_excess(mu), eta = std::copysign(std::sqrt(2 * excess), mu);
  const double rows[5][12] = {
      {-0.33333333333333333, 0.083333333333333333, -0.014814814814814815, 0.0011574074074074074, 0.0003527336860670194,
       -0.00017875514403292181, 3.9192631785224378e-5, -2.1854485106799922e-6, -1.85406221071516e-6,
       8.296711340953086e-7, -1.7665952736826079e-7, 6.7078535434014986e-9},
      {-0.0018518518518518519, -0.0034722222222222222, 0.0026455026455026455, -0.00099022633744855967,
       0.00020576131687242798, -4.0187757201646091e-7, -1.8098550334489978e-5, 7.6491609160811101e-6},
      {0.0041335978835978836, -0.0026813271604938272, 0.00077160493827160494, 2.0093878600823045e-6,
       -0.00010736653226365161, 5.2923448829120125e-5},
      {0.00064943415637860082, 0.00022947209362139918, -0.00046918949439525571, 0.00026772063206283885},
      {-0.0008618882909167117, 0.00078403922172006663},
  };
  double sum = 0;
  for (int k = 4; k >= 0; --k) {
    double row = 0;
    for (int n = 11; n >= 0; --n) row = row * eta + rows[k][n];
    sum = sum / a + row;
  }
  const double rest = std::exp(-a * excess) / std::sqrt(2 * kPi * a) * sum;
  const double z = eta * std::sqrt(a / 2);
  return upper ? 0.5 * std::erfc(z) + rest : 0.5 * std::erfc(-z) - rest;
}

double incomplete(double a, double x, bool upper) {
  if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (a == kInfinity && x == kInfinity)) return kNan;
  if (x == 0 || a == kInfinity) return upper ? 1 : 0;
  if (a == 0 || x == kInfinity || (x > 1e4 && x > 2 * a)) return upper ? 0 : 1;  // the difference is below 1e-600
  const double mu = (x - a) / a;
  if (a >= 1000 && std::abs(mu) < 0.2) return near_large(a, mu, upper);
  // The smaller of the two functions is computed, and the other one derived from it.
  if (x <= 1.1) {
    const bool lower = x <= 0.5 ? -0.4 / std::log(x) < a : 1.1 * x < a;
    if (lower || !upper) return upper ? 1 - lower_series(a, x) : lower_series(a, x);
    return upper_series(a, x);
  }
  if (x < a + 1) return upper ? 1 - lower_series(a, x) : lower_series(a, x);
  return upper ? upper_fraction(a, x) : 1 - upper_fraction(a, x);
}

/// The incomplete Beta function for x up to (a + 1) / (a + b + 2), where y is 1 - x: x^a y^b / (a B(a, b)) times its
/// continued fraction (DLMF 8.17.22), with Lentz's method. The factor is measured from where x is a / (a + b), so that no
/// large powers are multiplied.
double lower_beta(double a, double b, double x, double y) {
  const double sum = a + b, away = x * b - y * a;  // a + away is x * sum, b - away is y * sum
  const auto excess = [](double mu, double ratio) {
    return std::abs(mu) > 0.5 ? mu - std::log(ratio) : log_excess(mu);
  };
  const double exponent = stirling_rest(sum) - stirling_rest(a) - stirling_rest(b) -
                          a * excess(away / a, x * (sum / a)) - b * excess(-away / b, y * (sum / b));
  const double factor = std::exp(exponent) * std::sqrt(b / sum / (2 * kPi)) / std::sqrt(a);
  double c = 1, d = 1 / (1 - sum * x / (a + 1)), value = d;
  for (double m = 1; m < 100000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / (1 + even * d);
    c = 1 + even / c;
    value *= c * d;
    const double odd = -(a + m) * (sum + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / (1 + odd * d);
    c = 1 + odd / c;
    value *= c * d;
    if (std::abs(c * d - 1) < 1e-16) break;
  }
  return factor * value;
}

/// Zeta for q > 0, by the Euler-Maclaurin formula (DLMF 25.11.5), in units of the first term.
double positive_zeta(double s, double q) {
  const double first = std::pow(q, -s);
  if (!(first < kInfinity) || q == kInfinity) return q == kInfinity ? 0 : first;
  double sum = 0, a = q, term = 1;
  for (; a < 10 + s && term > kTiny * sum; a += 1) sum += term = std::pow(q / a, s);
  const double rest = std::pow(q / a, s);
  return first * (rest > kTiny * kTiny ? sum + rest * zeta_tail(s, a) : sum);
}

}  // namespace

double igamma(double a, double x) { return incomplete(a, x, false); }
double igammac(double a, double x) { return incomplete(a, x, true); }

double betainc(double a, double b, double x) {
  if (!(a >= 0 && b >= 0 && x >= 0 && x <= 1) || (a == 0 && b == 0) || (a == kInfinity && b == kInfinity)) return kNan;
  if (a == 0 || b == kInfinity) return a == 0 || x > 0 ? 1 : 0;  // all is at 0
  if (b == 0 || a == kInfinity) return x < 1 ? 0 : 1;            // all is at 1
  if (x == 0 || x == 1) return x;
  if (x <= (a + 1) / (a + b + 2)) return lower_beta(a, b, x, 1 - x);
  return 1 - lower_beta(b, a, 1 - x, x);
}

double zeta(double s, double q) {
  if (s != s || q != q || s < 1) return kNan;
  if (s == 1) return kInfinity;
  if (q <= 0) {
    const double above = q - std::floor(q);  // the smallest of q, q + 1, ... that is positive
    if (above == 0) return kInfinity;
    if (s != std::floor(s) || q == -kInfinity) return kNan;
    // The terms below 0 are a finite part of the sum that begins at the distance of the last of them.
    const double below = positive_zeta(s, 1 - above) - positive_zeta(s, 1 - q);
    return positive_zeta(s, above) + (std::fmod(s, 2) == 0 ? below : -below);
  }
  if (s == kInfinity) return q > 1 ? 0 : q < 1 ? kInfinity : 1;
  return positive_zeta(s, q);
}

}  // namespace kiln::special
