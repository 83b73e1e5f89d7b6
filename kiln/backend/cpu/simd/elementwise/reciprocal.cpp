#include "kiln/backend/cpu/simd/elementwise/reciprocal.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>

namespace kiln::cpu::simd {
namespace {

/// Does x * high + x * low, rounded once, give x / y for all whole numbers x of 24 bits? high is 1 / y toward zero, low
/// what it lacks, but for `error`. The sum is so near to the quotient that the two round differently only if the middle
/// of two floats lies between them. That is an odd k by 2^24, or by 2^25 where x < y; so 2^s x - k y is a small number
/// then. To each small number belong one or two x (more if y is even, but then few numbers are small), which are tried.
/// N. Brisebarre and J.-M. Muller, "Correctly rounded multiplication by arbitrary precision constants", 2008.
bool gives_quotients(std::int64_t y, float high, float low, double error) {
  constexpr std::int64_t kLeast = 1 << 23, kMost = 1 << 24;
  const int twos = std::countr_zero(static_cast<std::uint64_t>(y));
  const std::int64_t odd = y >> twos;
  auto inverse = static_cast<std::uint32_t>(odd);  // of odd, modulo 2^32; each step doubles the bits that are right
  for (int step = 0; step < 4; ++step) inverse *= 2 - static_cast<std::uint32_t>(odd) * inverse;
  const double y_times_most = static_cast<double>(y) * kMost;
  for (const int s : {24, 25}) {
    const int shift = s - twos;
    const std::int64_t modulus = std::int64_t{1} << shift;
    const auto most = static_cast<std::int64_t>(static_cast<double>(modulus) * y_times_most * error);
    for (std::int64_t rest = 1; rest <= most; rest = rest < 0 ? 2 - rest : -rest) {
      std::int64_t k = (-rest * inverse) & (modulus - 1);
      for (std::int64_t x = (rest + k * odd) >> shift; x < kMost; x += odd, k += modulus) {
        if (x < kLeast || (x < y) != (s == 25)) continue;
        const double number = static_cast<double>(x), middle = static_cast<double>(k) * (s == 24 ? 0x1p-24 : 0x1p-25);
        // The product has 48 bits, and its first are those of the middle: no digit is lost.
        const double above = number * static_cast<double>(high) - middle + static_cast<float>(number) * low;
        if (rest < 0 ? above >= 0 : above <= 0) return false;
      }
    }
  }
  return true;
}

}  // namespace

Reciprocal::Reciprocal(float number) {
  const float size = std::abs(number);
  if (!(size >= 0x1p-20f && size <= 0x1p20f)) return;
  // As for the whole number that has its digits.
  const auto digits = static_cast<float>((std::bit_cast<std::uint32_t>(number) & 0x7fffff) | 0x800000);
  const auto y = static_cast<double>(digits);
  float first = 1 / digits;
  if (static_cast<double>(first) * y > 1) first = std::bit_cast<float>(std::bit_cast<std::uint32_t>(first) - 1);
  const double rest = (1 - static_cast<double>(first) * y) / y;
  const auto second = static_cast<float>(rest);
  const double error = std::abs(rest - static_cast<double>(second)) + static_cast<double>(second) * 0x1p-24;
  if (second == 0 || !gives_quotients(static_cast<std::int64_t>(digits), first, second, error)) return;
  high = first * (digits / number);
  low = second * (digits / number);
  least = 0x1p-126f / std::abs(low);  // x * low keeps all its digits
}

}  // namespace kiln::cpu::simd
