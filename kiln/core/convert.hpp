// Conversion of a number to another element type, defined for every input and equal on every device.
#pragma once
#include <concepts>
#include <limits>
#include <type_traits>

#include "kiln/core/half.hpp"

namespace kiln {

template <class T> inline constexpr bool is_half = std::same_as<T, F16> || std::same_as<T, BF16>;

/// A number becomes true where it is not 0 (NaN is true). A conversion to a float rounds to nearest, once. A float
/// becomes an integer by truncation towards zero, saturated at the integer's limits; NaN becomes 0. An integer becomes
/// a narrower integer by keeping its low bits.
template <class To, class From>
constexpr To convert(From value) {
  if constexpr (is_half<From> && !std::same_as<To, From>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::same_as<To, bool>) {
    return value != 0;
  } else if constexpr (std::integral<To> && std::floating_point<From>) {
    using Limits = std::numeric_limits<To>;
    constexpr From kBeyond = static_cast<From>(Limits::max() / 2 + 1) * 2;  // a power of two: exact
    if (value != value) return 0;
    if (value >= kBeyond) return Limits::max();
    if (value <= static_cast<From>(Limits::min())) return Limits::min();
    return static_cast<To>(value);
  } else if constexpr (std::same_as<To, float> && std::same_as<From, double>) {
    // A number beyond the largest float by half a step or more becomes infinity, as IEEE 754 rounds (C++ leaves the
    // cast open).
    if (value >= 0x1.ffffffp127) return std::numeric_limits<float>::infinity();
    if (value <= -0x1.ffffffp127) return -std::numeric_limits<float>::infinity();
    return static_cast<float>(value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace kiln
