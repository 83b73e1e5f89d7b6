// The meaning of a kernel's arithmetic, for plain numbers: used by constant folding and by the interpreter.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kiln/backend/gpu/kernel/kernel.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln::gpu {

template <class T>
T value_of(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
template <class T>
std::uint64_t bits_of_value(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

/// Calls f with a value of the C++ type that corresponds to `type`.
template <class F>
auto visit_type(DType type, F f) {
  switch (type) {
    case DType::F64: return f(double{});
    case DType::F32: return f(float{});
    case DType::I64: return f(std::int64_t{});
    case DType::U64: return f(std::uint64_t{});
    case DType::I32: return f(std::int32_t{});
    case DType::U32: return f(std::uint32_t{});
    case DType::Bool: return f(bool{});
    default: break;
  }
  fail<ArgumentError>("kernel: nothing is computed in ", type);
}

/// Integers wrap around; results that C++ leaves undefined (a quotient by 0, a shift too far) are 0.
template <class T>
T arithmetic(Arithmetic op, T x, T y) {
  if constexpr (std::is_same_v<T, bool>) {
    switch (op) {
      case Arithmetic::Not: return !x;
      case Arithmetic::And: return x && y;
      case Arithmetic::Or: return x || y;
      default: return x != y;
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case Arithmetic::Negate: return -x;
      case Arithmetic::Add: return x + y;
      case Arithmetic::Subtract: return x - y;
      case Arithmetic::Multiply: return x * y;
      case Arithmetic::Divide: return x / y;
      case Arithmetic::Minimum: return x < y || y != y ? x : y;
      case Arithmetic::Maximum: return x > y || y != y ? x : y;
      default: fail<ArgumentError>("kernel: floats have no bits; take bits_as");
    }
  } else {
    using U = std::make_unsigned_t<T>;
    const U a = static_cast<U>(x), b = static_cast<U>(y);
    const bool overflows = std::is_signed_v<T> && x == std::numeric_limits<T>::min() && y == static_cast<T>(-1);
    switch (op) {
      case Arithmetic::Negate: return static_cast<T>(U{0} - a);
      case Arithmetic::Not: return static_cast<T>(~a);
      case Arithmetic::Add: return static_cast<T>(a + b);
      case Arithmetic::Subtract: return static_cast<T>(a - b);
      case Arithmetic::Multiply: return static_cast<T>(a * b);
      case Arithmetic::Divide: return y == 0 ? T{0} : overflows ? x : static_cast<T>(x / y);
      case Arithmetic::Remainder: return y == 0 || overflows ? T{0} : static_cast<T>(x % y);
      case Arithmetic::Minimum: return std::min(x, y);
      case Arithmetic::Maximum: return std::max(x, y);
      case Arithmetic::And: return static_cast<T>(a & b);
      case Arithmetic::Or: return static_cast<T>(a | b);
      case Arithmetic::Xor: return static_cast<T>(a ^ b);
      case Arithmetic::ShiftLeft: return b >= sizeof(T) * 8 ? T{0} : static_cast<T>(a << b);
      case Arithmetic::ShiftRight: return b >= sizeof(T) * 8 ? T{0} : static_cast<T>(x >> b);
      default: break;
    }
    return T{0};
  }
}

template <class T>
bool comparison(Arithmetic op, T x, T y) {
  switch (op) {
    case Arithmetic::Less: return x < y;
    case Arithmetic::LessEqual: return x <= y;
    case Arithmetic::Equal: return x == y;
    default: return x != y;
  }
}

template <class From, class To>
To cast(From x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && !std::is_same_v<To, bool>) {
    // Conversions that C++ leaves undefined give the nearest limit, as on GPUs.
    if (std::isnan(x)) return To{0};
    if (x >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    if (x <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  }
  return static_cast<To>(x);
}

}  // namespace kiln::gpu
