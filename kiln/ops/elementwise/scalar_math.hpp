// The functions with which elementwise.def writes its expressions, for plain numbers. They define what C++ leaves
// undefined: an integer division by zero gives 0, a shift by too many bits shifts everything out.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include "kiln/core/wrapping.hpp"
#include "kiln/ops/special/special_math.hpp"

namespace kiln::scalar_math {

using std::acos, std::asin, std::asinh, std::atan, std::atanh, std::copysign, std::cos, std::cosh, std::erf, std::erfc,
    std::exp, std::exp2, std::expm1, std::hypot, std::log, std::log10, std::log1p, std::log2, std::sin, std::sinh,
    std::sqrt, std::tan, std::tanh, std::atan2;

/// Whether a row's value is made of sums, differences and products alone. Those of integers wrap around, so they are
/// computed without a sign.
constexpr bool wraps(std::string_view value) { return value.find_first_not_of(" xy+-*") == value.npos; }
template <class T, bool wraps>
using Computed = std::conditional_t<wraps, Wrapping<T>, T>;

template <class T> bool is_nan(T x) { return x != x; }
template <class T> bool is_inf(T x) { return std::abs(x) == std::numeric_limits<T>::infinity(); }
template <class T> bool is_finite(T x) { return std::abs(x) < std::numeric_limits<T>::infinity(); }

template <class A, class B>
std::common_type_t<A, B> select(bool condition, A a, B b) {
  return condition ? a : b;
}
/// NaN if either operand is NaN.
template <class A, class B>
std::common_type_t<A, B> max(A a, B b) {
  using T = std::common_type_t<A, B>;
  const T x = static_cast<T>(a), y = static_cast<T>(b);
  return is_nan(x) || x > y ? x : y;
}
template <class A, class B>
std::common_type_t<A, B> min(A a, B b) {
  using T = std::common_type_t<A, B>;
  const T x = static_cast<T>(a), y = static_cast<T>(b);
  return is_nan(x) || x < y ? x : y;
}

template <class T>
T abs(T x) {
  if constexpr (std::is_unsigned_v<T>) return x;
  else if constexpr (std::is_integral_v<T>) return x < 0 ? wrapping_negate(x) : x;
  else return std::abs(x);
}
/// -1, 0 or 1; NaN stays NaN.
template <class T>
T sign(T x) {
  return is_nan(x) ? x : static_cast<T>((x > T{0}) - (x < T{0}));
}

/// NaN below 1, where musl's, which modules of WebAssembly have, is infinite for some numbers.
template <class T>
auto acosh(T x) {
  using Real = decltype(std::acosh(x));
  return x < 1 ? std::numeric_limits<Real>::quiet_NaN() : std::acosh(x);
}

template <class T>
bool sign_bit(T x) {
  if constexpr (std::is_integral_v<T>) return x < 0;
  else return std::signbit(x);
}

template <class T> T floor(T x) {
  if constexpr (std::is_integral_v<T>) return x;
  else return std::floor(x);
}
template <class T> T ceil(T x) {
  if constexpr (std::is_integral_v<T>) return x;
  else return std::ceil(x);
}
template <class T> T trunc(T x) {
  if constexpr (std::is_integral_v<T>) return x;
  else return std::trunc(x);
}
/// Halves round to even.
template <class T> T round(T x) {
  if constexpr (std::is_integral_v<T>) return x;
  else return std::rint(x);
}

/// The quotient rounded down.
template <class T>
T floor_divide(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    if (y == 0) return 0;
    if constexpr (std::is_signed_v<T>)
      if (y == T(-1)) return wrapping_negate(x);
    const T quotient = static_cast<T>(x / y);
    return static_cast<T>(quotient - ((x % y != 0) && ((x < 0) != (y < 0))));
  } else {
    return std::floor(x / y);
  }
}
/// The remainder of floor_divide; it has the sign of y (Python's %).
template <class T>
T remainder(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    if (y == 0) return 0;
    if constexpr (std::is_signed_v<T>)
      if (y == T(-1)) return 0;
    const T rest = static_cast<T>(x % y);
    return static_cast<T>(rest != 0 && ((rest < 0) != (y < 0)) ? rest + y : rest);
  } else {
    const T rest = std::fmod(x, y);
    return rest != 0 && ((rest < 0) != (y < 0)) ? rest + y : rest;
  }
}
/// The remainder of truncating division; it has the sign of x (C's %).
template <class T>
T fmod(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    if (y == 0) return 0;
    if constexpr (std::is_signed_v<T>)
      if (y == T(-1)) return 0;
    return static_cast<T>(x % y);
  } else {
    return std::fmod(x, y);
  }
}
/// An integer to a negative power is 0, unless it is 1 or -1.
template <class T>
T pow(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_signed_v<T>) {
      if (y < 0) return x == 1 ? T(1) : x == T(-1) ? static_cast<T>(y % 2 == 0 ? 1 : -1) : T(0);
    }
    std::uint64_t power = 1, base = static_cast<std::uint64_t>(x);
    for (auto rest = static_cast<std::uint64_t>(y); rest; rest >>= 1, base *= base)
      if (rest & 1) power *= base;
    return static_cast<T>(power);
  } else {
    return std::pow(x, y);
  }
}
template <class T>
T shift_left(T x, T y) {
  if (y < 0 || static_cast<std::uint64_t>(y) >= sizeof(T) * 8) return 0;
  return static_cast<T>(static_cast<std::uint64_t>(x) << y);
}
template <class T>
T shift_right(T x, T y) {
  if (y < 0 || static_cast<std::uint64_t>(y) >= sizeof(T) * 8) return x < 0 ? static_cast<T>(-1) : T(0);
  return static_cast<T>(x >> y);
}

// These are computed in double precision, also for floats.
template <class T> T lgamma(T x) { return static_cast<T>(special::lgamma(static_cast<double>(x))); }
template <class T> T digamma(T x) { return static_cast<T>(special::digamma(static_cast<double>(x))); }
template <class T> T polygamma(T order, T x) {
  return static_cast<T>(special::polygamma(static_cast<double>(order), static_cast<double>(x)));
}
template <class T> T erfinv(T x) { return static_cast<T>(special::erfinv(static_cast<double>(x))); }
template <class T> T i0(T x) { return static_cast<T>(special::bessel_i(0, static_cast<double>(x))); }
template <class T> T i1(T x) { return static_cast<T>(special::bessel_i(1, static_cast<double>(x))); }
/// sin(pi x) / (pi x)
template <class T>
T sinc(T x) {
  const auto real = static_cast<double>(x);
  return static_cast<T>(x == 0 ? 1 : special::sin_pi(real) / (special::kPi * real));
}

}  // namespace kiln::scalar_math
