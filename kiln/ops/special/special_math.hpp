// Special functions that the C++ library lacks, in double precision; relative errors are below 1e-14 away from zeros.
// scalar_math.hpp offers them for any number.
#pragma once
#include <cmath>
#include <initializer_list>
#include <limits>

namespace kiln::special {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kPi = 3.141592653589793;

/// sin(pi x), with the argument reduced exactly.
inline double sin_pi(double x) {
  const double whole = std::rint(x), sine = std::sin(kPi * (x - whole));
  return std::fmod(whole, 2) == 0 ? sine : -sine;
}

/// Fits of log Gamma(1 + d) / (d (d - 1)), the highest power first: in (d + 0.125) / 0.375 up to d = 0.25, and in
/// (d - 0.625) / 0.375 from there to 1 (errors 5e-18 and 2e-18).
inline constexpr double kLgammaBelow[] = {
    9.581263171706415e-11,  -2.215592689847975e-10,  -6.166438057562876e-11, 8.297953717727516e-11,
    1.45584570140694e-09,   -3.3864820716806023e-09, 5.659376077771604e-09,  -1.4193675738193682e-08,
    3.774074978833564e-08,  -9.318810376150095e-08,  2.297408410971099e-07,  -5.735628682055854e-07,
    1.439355747697608e-06,  -3.630149170161948e-06,  9.21577264493051e-06,   -2.3580211563493196e-05,
    6.0908936785561436e-05, -0.00015919690611623094, 0.0004224498075844471,  -0.001144148019835524,
    0.0031906505245144928,  -0.009310990727084896,   0.029399113110686364,   -0.10887616767481847,
    0.6105508069357107};
inline constexpr double kLgammaAbove[] = {-4.862886820469937e-13,  2.1924630196941468e-12,  -7.848127507611836e-12,
                                          3.6220722616649965e-11,  -1.7138180713596114e-10, 7.945344911997794e-10,
                                          -3.6993563289066404e-09, 1.7349671972308386e-08,  -8.196989756312653e-08,
                                          3.9078185484839975e-07,  -1.8844838108824608e-06, 9.22504595696076e-06,
                                          -4.609235994101707e-05,  0.00023714482239523048,  -0.0012758784836501206,
                                          0.0073939818122483875,   -0.04934212173256273,    0.46580963736232694};
/// Stirling's series in 1 / x^2, without its first terms and a factor x, for x from 10 on.
inline constexpr double kStirling[] = {-3617.0 / 122400, 1.0 / 156,  -691.0 / 360360, 1.0 / 1188,
                                       -1.0 / 1680,      1.0 / 1260, -1.0 / 360,      1.0 / 12};
/// Stirling's series for digamma, and a fit (error 9e-17) around its zero, in 2 x - 3 for x in [1, 2].
inline constexpr double kDigammaTail[] = {1.0 / 12,  -691.0 / 32760, 1.0 / 132, -1.0 / 240,
                                          1.0 / 252, -1.0 / 120,     1.0 / 12};
inline constexpr double kDigammaZero = 1.4616321449683622, kDigammaZeroRest = 9.549995429965697e-17;
inline constexpr double kDigamma[] = {2.478695345606839e-10,  -7.223491003007321e-10,  8.657533672812613e-10,
                                      -2.703662231927563e-09, 1.1039363482759935e-08,  -3.289430573852927e-08,
                                      9.500659034300503e-08,  -2.8533931229297597e-07, 8.59134317611421e-07,
                                      -2.578570146188502e-06, 7.741156049273805e-06,   -2.3258097015958563e-05,
                                      6.995020506384849e-05,  -0.00021074843810682485, 0.0006368880282849916,
                                      -0.001935066662163103,  0.005936795278436479,    -0.018550615381859925,
                                      0.060135621060193475,   -0.2118137106407286,     0.951055876031833};

/// log Gamma(1 + d) for d in [-0.5, 1]: d (d - 1) times the fits, which makes its zeros exact.
inline double lgamma_near_one(double d) {
  double fit = 0;
  if (d < 0.25)
    for (const double c : kLgammaBelow) fit = fit * ((d + 0.125) / 0.375) + c;
  else
    for (const double c : kLgammaAbove) fit = fit * ((d - 0.625) / 0.375) + c;
  return d * (d - 1) * fit;
}
/// log |Gamma(x)|: the recurrence to the fits around 1 and 2, Stirling's series from 10 on, the reflection below 0
/// (Abramowitz and Stegun, 6.1.15, 6.1.41, 6.1.17). std::lgamma is not used, as it writes a global variable.
inline double lgamma(double x) {
  if (!(std::abs(x) < kInfinity)) return x * x;
  // Gamma(1 + x) / x, as the reflection would divide by the square of x.
  if (x != 0 && std::abs(x) < 0.5) return lgamma_near_one(x) - std::log(std::abs(x));
  if (x <= 0) {
    const double sine = std::abs(sin_pi(x));
    return sine == 0 ? kInfinity : std::log(kPi / (-x * sine)) - lgamma(-x);
  }
  if (x >= 10) {
    const double s = 1 / (x * x);
    double tail = 0;
    for (const double c : kStirling) tail = tail * s + c;
    return (x - 0.5) * std::log(x) - x + 0.9189385332046727 + tail / x;
  }
  double product = 1;
  for (; x > 2; x -= 1) product *= x - 1;
  return lgamma_near_one(x - 1) + std::log(product);
}

/// d log Gamma(x) / dx: the recurrence to [1, 2], where it is a Chebyshev fit (error 9e-17) around its zero; the
/// asymptotic series from 10 on, the reflection below 0 (Abramowitz and Stegun, 6.3.5, 6.3.18, 6.3.7). The pole at 0 is
/// infinite, with the sign of the side; other poles are NaN.
inline double digamma(double x) {
  if (x == 0) return std::copysign(kInfinity, -x);
  if (x < 0) {
    const double rest = x - std::rint(x);
    return rest == 0 ? kNan : digamma(1 - x) - kPi / std::tan(kPi * rest);
  }
  if (x >= 10) {
    const double s = 1 / (x * x);
    double tail = 0;
    for (const double c : kDigammaTail) tail = tail * s + c;
    return std::log(x) - 0.5 / x - tail * s;
  }
  double sum = 0;
  for (; x > 2; x -= 1) sum += 1 / (x - 1);
  for (; x < 1; x += 1) sum -= 1 / x;
  double fit = 0;
  for (const double c : kDigamma) fit = fit * (2 * x - 3) + c;
  return fit * ((x - kDigammaZero) - kDigammaZeroRest) + sum;
}

/// The ratio of the sum over k >= 0 of (a + k)^-s to its first term, for a of 10 and more than s: the Euler-Maclaurin
/// formula (Abramowitz and Stegun, 23.1.30; DLMF 25.11.5).
inline double zeta_tail(double s, double a) {
  double tail = 0.5 + a / (s - 1), factor = s / a;
  int j = 1;
  // Bernoulli numbers over factorials, B(2j) / (2j)!
  for (const double c : {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000,
                         1.0 / 74724249600, -3617.0 / 10670622842880000}) {
    tail += c * factor;
    factor *= (s + 2 * j - 1) * (s + 2 * j) / (a * a);
    ++j;
  }
  return tail;
}

/// Gamma(s) * sum over k >= 0 of (x + k)^-s for s > 1 and x > 0, Hurwitz's zeta function, scaled by its first term so
/// that nothing overflows before the result does.
inline double gamma_zeta(double s, double x) {
  double sum = 0, a = x;
  for (; a < 10 + 2 * s; a += 1) sum += std::pow(x / a, s);
  sum += std::pow(x / a, s) * zeta_tail(s, a);
  // Gamma(s) * x^-s, in two factors, and by logarithms where one of them is out of range.
  const double gamma = std::tgamma(s), half = std::pow(x, -s / 2);
  const bool in_range = gamma < kInfinity && half > 1e-290 && half < kInfinity;
  return in_range ? sum * gamma * half * half : sum * std::exp(lgamma(s) - s * std::log(x));
}

/// The derivative of digamma of an integer order (0: digamma itself) up to 1000; NaN for other orders. A pole is
/// infinite at 0 and where both sides agree, and NaN elsewhere.
inline double polygamma(double order, double x) {
  if (!(order >= 0 && order <= 1000) || order != std::floor(order) || x != x) return kNan;
  if (order == 0) return digamma(x);
  const double s = order + 1;
  const bool odd = std::fmod(order, 2) != 0;
  if (x == kInfinity) return odd ? 0 : -0.0;
  if (x > 0) return odd ? gamma_zeta(s, x) : -gamma_zeta(s, x);
  if (x == -kInfinity) return kNan;
  const double rest = -x - std::floor(-x);
  if (rest == 0) return odd ? kInfinity : x == 0 ? std::copysign(kInfinity, -x) : kNan;
  // The terms of the sum below 0 are a finite part of another such sum.
  const double above = gamma_zeta(s, 1 - rest), below = gamma_zeta(s, rest) - gamma_zeta(s, 1 - x);
  return odd ? above + below : below - above;
}

/// The inverse of erf: Winitzki's approximation ("A handy approximation for the error function and its inverse", 2008),
/// refined by Halley's method; near the ends it uses the distance to them, which erfc keeps exact.
inline double erfinv(double x) {
  const double size = std::abs(x);
  if (!(size < 1)) return size == 1 ? std::copysign(kInfinity, x) : kNan;
  constexpr double kA = 0.147;
  const double log = std::log1p(-x * x), b = 2 / (kPi * kA) + log / 2, c = -log / kA;
  double y = std::sqrt(c / (std::sqrt(b * b + c) + b));
  for (int step = 0; step < 3; ++step) {
    const double error = size < 0.5 ? std::erf(y) - size : (1 - size) - std::erfc(y);
    const double newton = error * 0.8862269254527580 * std::exp(y * y);
    y -= newton / (1 + y * newton);
  }
  return std::copysign(y, x);
}

/// The modified Bessel function of the first kind, of order 0 or 1: below 20 its power series, whose terms are all
/// positive, and above the asymptotic series (Abramowitz and Stegun, 9.6.10 and 9.7.1).
inline double bessel_i(int order, double x) {
  const double size = std::abs(x);
  double sum = 1, term = 1;
  if (size < 20) {
    for (int k = 1; term > 1e-18 * sum; ++k) sum += term *= size * size / (4.0 * k * (k + order));
    return order == 0 ? sum : sum * x / 2;
  }
  if (!(size < kInfinity)) return order == 0 ? size : x;
  for (int k = 1; k < 40 && std::abs(term) > 1e-18; ++k)
    sum += term *= ((2.0 * k - 1) * (2.0 * k - 1) - 4.0 * order) / (8.0 * k * size);
  const double half = std::exp(size / 2);  // two factors: the result overflows later than exp(size)
  const double value = half * (half / (std::sqrt(2 * kPi) * std::sqrt(size))) * sum;
  return order == 0 ? value : std::copysign(value, x);
}

}  // namespace kiln::special
