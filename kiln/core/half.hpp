// The 16-bit floating types as storage: converted to float to compute, rounded to nearest even on the way back.
#pragma once
#include <bit>
#include <concepts>
#include <cstdint>

namespace kiln {

/// The number as a float whose last bit is set where digits were lost ("round to odd"). Rounding that float to a half
/// gives the same as rounding the number directly; going through the nearest float would round twice.
constexpr float round_to_odd(double number) {
  if (!(number - number == 0)) return static_cast<float>(number);  // infinite or NaN
  constexpr double kLargest = 0x1.fffffep127;
  if (number > kLargest || number < -kLargest) return number < 0 ? -0x1.fffffep127f : 0x1.fffffep127f;
  const float nearest = static_cast<float>(number);
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (static_cast<double>(nearest) == number || (bits & 1)) return nearest;
  if (nearest == 0) return number < 0 ? -0x1p-149f : 0x1p-149f;
  const bool too_large = (number < 0) == (static_cast<double>(nearest) < number);
  return std::bit_cast<float>(too_large ? bits - 1 : bits + 1);
}
constexpr float round_to_odd(float number) { return number; }
constexpr float round_to_odd(bool flag) { return flag ? 1.0f : 0.0f; }
constexpr float round_to_odd(std::integral auto number) {
  const bool negative = number < 0;
  auto magnitude = static_cast<std::uint64_t>(number);
  if (negative) magnitude = 0 - magnitude;
  const int excess = std::bit_width(magnitude) - 24;
  if (excess > 0) {
    const std::uint64_t lost = magnitude & ((std::uint64_t{1} << excess) - 1);
    magnitude = (magnitude >> excess | (lost != 0)) << excess;
  }
  return negative ? -static_cast<float>(magnitude) : static_cast<float>(magnitude);
}

/// IEEE 754 binary16.
struct F16 {
  std::uint16_t bits = 0;
  F16() = default;
  constexpr explicit F16(float value) : bits(round(value)) {}
  /// Rounds once, whatever the type of `value`.
  template <class T>
  constexpr explicit F16(T value) : F16(round_to_odd(value)) {}
  static constexpr F16 from_bits(std::uint16_t bits) {
    F16 half;
    half.bits = bits;
    return half;
  }
  constexpr operator float() const { return widen(bits); }

 private:
  static constexpr std::uint16_t round(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = word >> 16 & 0x8000u, magnitude = word & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);   // NaN
    if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // rounds past 65504
    if (magnitude < 0x33000001u) return static_cast<std::uint16_t>(sign);             // rounds to zero
    if (magnitude < 0x38800000u) {                                                    // subnormal
      const std::uint32_t shift = 126 - (magnitude >> 23);
      const std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
      const std::uint32_t half = 1u << (shift - 1), rest = mantissa & ((1u << shift) - 1);
      std::uint32_t result = mantissa >> shift;
      if (rest > half || (rest == half && (result & 1))) ++result;
      return static_cast<std::uint16_t>(sign | result);
    }
    const std::uint32_t rebased = magnitude - 0x38000000u;
    return static_cast<std::uint16_t>(sign | (rebased + 0xfffu + (rebased >> 13 & 1)) >> 13);
  }
  static constexpr float widen(std::uint16_t bits) {
    const std::uint32_t sign = (bits & 0x8000u) << 16;
    std::uint32_t exponent = bits >> 10 & 0x1fu, mantissa = bits & 0x3ffu;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
    if (exponent == 0) {
      if (mantissa == 0) return std::bit_cast<float>(sign);
      exponent = 1;
      while (!(mantissa & 0x400u)) {
        mantissa <<= 1;
        --exponent;
      }
      mantissa &= 0x3ffu;
    }
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  }
};

/// The upper 16 bits of a float ("brain float").
struct BF16 {
  std::uint16_t bits = 0;
  BF16() = default;
  constexpr explicit BF16(float value) : bits(round(value)) {}
  /// Rounds once, whatever the type of `value`.
  template <class T>
  constexpr explicit BF16(T value) : BF16(round_to_odd(value)) {}
  static constexpr BF16 from_bits(std::uint16_t bits) {
    BF16 half;
    half.bits = bits;
    return half;
  }
  constexpr operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

 private:
  static constexpr std::uint16_t round(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    if ((word & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>(word >> 16 | 0x40u);  // NaN
    return static_cast<std::uint16_t>((word + 0x7fffu + (word >> 16 & 1)) >> 16);
  }
};

}  // namespace kiln
