// The discrete Fourier transform as its definition has it.
#pragma once
#include <complex>
#include <cstdint>
#include <numbers>
#include <vector>

namespace kiln::test {

using Complex = std::complex<double>;
using Line = std::vector<Complex>;

/// e to the power of 2 pi i numerator / denominator.
inline Complex turn(std::int64_t numerator, std::int64_t denominator) {
  return std::polar(
      1.0, 2 * std::numbers::pi * static_cast<double>(numerator % denominator) / static_cast<double>(denominator));
}

/// The sum that defines the transform of `n` elements, of which `x` has fewer or more.
inline Line transform(Line x, std::int64_t n, int sign) {
  x.resize(static_cast<std::size_t>(n));
  Line z(x.size()), turns;
  for (std::int64_t i = 0; i < n; ++i) turns.push_back(sign > 0 ? turn(i, n) : std::conj(turn(i, n)));
  for (std::size_t k = 0; k < x.size(); ++k)
    for (std::size_t j = 0, at = 0; j < x.size(); ++j, at = (at + k) % x.size()) z[k] += x[j] * turns[at];
  return z;
}

}  // namespace kiln::test
