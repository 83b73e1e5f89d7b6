// Bessel functions of orders 0 and 1 from their integrals, for tests to compare with: not every C++ library has them, and
// Kiln's kernels use series and recurrences. Errors are about 1e-15 of the largest values nearby, so that relative ones grow
// where a function is small.
#pragma once
#include <cmath>
#include <complex>

namespace kiln::test {

/// The mean of f(angle) over a circle of `steps` equal steps. For smooth periodic functions that is their integral over 2 pi up to
/// rounding once no term oscillates faster than the steps.
template <class F>
double mean_on_circle(int steps, F f) {
  double sum = 0;
  for (int i = 0; i < steps; ++i) sum += f(2 * M_PI * i / steps);
  return sum / steps;
}

/// exp(-|x|) I_order(x) (DLMF 10.32.3).
inline double scaled_bessel_i(int order, double x) {
  return mean_on_circle(static_cast<int>(std::abs(x)) + 64, [=](double angle) {
    return std::exp(x * std::cos(angle) - std::abs(x)) * std::cos(order * angle);
  });
}

/// J_order(x) + i Y_order(x) for x > 0 (DLMF 10.9.10). The way of w = t + i pi/2 tanh(t) is one on which the function falls
/// from t = 0 in both directions, so fast that equal steps are exact up to rounding; J_1 has an error of 1e-17 / x.
inline std::complex<double> hankel(int order, double x) {
  using Complex = std::complex<double>;
  const double step = 0.1 / std::sqrt(1 + x / 4);
  Complex sum = 0.5 * Complex(1, M_PI / 2), term = sum;
  for (int i = 1; std::abs(term) > 1e-18; ++i) {
    const double t = step * i, slope = M_PI / 2 / (std::cosh(t) * std::cosh(t));
    const Complex w(t, M_PI / 2 * std::tanh(t)), half = std::sinh(w / 2.0);
    term = std::exp(Complex(0, 2 * x) * half * half) * std::cosh(static_cast<double>(order) * w) * Complex(1, slope);
    sum += term;
  }
  const Complex turned = order == 0 ? Complex(0, -1) : Complex(-1, 0);  // (-i)^(order + 1)
  return 2 * step / M_PI * sum * turned * std::polar(1.0, x);
}

/// J_order(x): near 0 by Bessel's integral (DLMF 10.9.2), where Y is too much larger.
inline double bessel_j(int order, double x) {
  if (std::abs(x) < 2)
    return mean_on_circle(64, [=](double angle) { return std::cos(order * angle - x * std::sin(angle)); });
  return (order == 1 && x < 0 ? -1 : 1) * hankel(order, std::abs(x)).real();
}

/// Y_order(x) for x > 0.
inline double bessel_y(int order, double x) { return hankel(order, x).imag(); }

}  // namespace kiln::test
