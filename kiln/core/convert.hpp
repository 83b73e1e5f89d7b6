// What becomes of a number in another element type, defined for every input and the same on every device.
#pragma once
#include <concepts>
#include <limits>
#include <type_traits>

#include "kiln/core/half.hpp"

namespace kiln {

template <class T> inline constexpr bool is_half = std::same_as<T, F16> || std::same_as<T, BF16>;

/// Anything to bool is `!= 0` (NaN is true). To a float: rounded to nearest, once. A float to an integer is
/// truncated towards zero and saturates at the integer's limits, NaN gives 0. An integer to a narrower integer
/// keeps its low bits.
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
    // Beyond the largest float by half a step or more: to infinity, as IEEE 754 rounds (the cast leaves it open).
    if (value >= 0x1.ffffffp127) return std::numeric_limits<float>::infinity();
    if (value <= -0x1.ffffffp127) return -std::numeric_limits<float>::infinity();
    return static_cast<float>(value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace kiln
