// Series of Bessel functions, which numbers and the processor's vectors have in common: lists of coefficients, the lowest
// power first.
#pragma once
#include <array>
#include <cstddef>

namespace kiln::special {

inline constexpr double kEuler = 0.5772156649015329;
inline constexpr double kBesselNear = 4;  // up to here the terms of the power series are too small to cancel much
inline constexpr double kBesselFar = 25;  // from here on asymptotic series are exact to rounding

using BesselSeries = std::array<double, 18>;

/// J (sign -1) or I (sign 1) of order 0 or 1, over (x / 2)^order, in x^2 / 4 (DLMF 10.2.2 and 10.25.2).
template <int order, int sign>
inline constexpr BesselSeries kBesselSeries = [] {
  BesselSeries series{1};
  for (std::size_t k = 1; k < series.size(); ++k)
    series[k] = sign * series[k - 1] / static_cast<double>(k * (k + order));
  return series;
}();

/// What is added to log(x / 2) times J, over (x / 2)^order and times pi / 2, for Y of order 0, or of order 1 but for
/// -1 / x (DLMF 10.8.1): terms of J times -(psi(k + 1) + psi(k + order + 1)) / 2.
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

/// a_k(order) of Hankel's expansions in 1 / x (DLMF 10.17.1), as many as count for x from 20 on.
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
