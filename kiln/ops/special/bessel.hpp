// Series of Bessel functions, shared by the scalar functions and the CPU's vector code: lists of coefficients, the
// lowest power first.
#pragma once
#include <array>
#include <cstddef>

namespace kiln::special {

inline constexpr double kEuler = 0.5772156649015329;
inline constexpr double kBesselNear = 4;  // up to here the terms of the power series are too small to cancel much
inline constexpr double kBesselFar = 25;  // from here on asymptotic series are exact up to rounding

using BesselSeries = std::array<double, 18>;

/// J (sign -1) or I (sign 1) of order 0 or 1, divided by (x / 2)^order, in powers of x^2 / 4 (DLMF 10.2.2 and 10.25.2).
template <int order, int sign>
inline constexpr BesselSeries kBesselSeries = [] {
  BesselSeries series{1};
  for (std::size_t k = 1; k < series.size(); ++k)
    series[k] = sign * series[k - 1] / static_cast<double>(k * (k + order));
  return series;
}();

/// The series that is added to log(x / 2) times J, divided by (x / 2)^order and multiplied by pi / 2, for Y of order 0,
/// or of order 1 without -1 / x (DLMF 10.8.1): terms of J times -(psi(k + 1) + psi(k + order + 1)) / 2.
template <int order>
inline constexpr BesselSeries kNeumannSeries = [] {
  BesselSeries series = kBesselSeries<order, -1>;
  double harmonic = 0;
  for (std::size_t k = 0; k < series.size(); ++k) {
    if (k > 0) harmonic += 1 / static_cast<double>(k);
    series[k] *= kEuler - harmonic - (order == 0 ? 0 : 0.5 / static_cast<double>(k + 1));
  }
  return series;
}();

/// a_k(order) of Hankel's expansions in 1 / x (DLMF 10.17.1): as many as x from 20 on needs.
template <int order>
inline constexpr std::array<double, 32> kHankelSeries = [] {
  std::array<double, 32> series{1};
  for (std::size_t k = 1; k < series.size(); ++k) {
    const auto odd = static_cast<double>(2 * k - 1);
    series[k] = series[k - 1] * (4 * order - odd * odd) / static_cast<double>(8 * k);
  }
  return series;
}();

}  // namespace kiln::special
