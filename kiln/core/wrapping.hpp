// Sums and products of integers modulo 2 to the number of their bits, which C++ has for unsigned ones alone; those of
// floats are what they are.
#pragma once
#include <type_traits>

namespace kiln {

template <class T, bool = std::is_integral_v<T> && sizeof(T) >= sizeof(unsigned)>
struct WrappingOf {
  using type = std::conditional_t<std::is_integral_v<T>, unsigned, T>;  // C++ would make an int of a shorter one
};
template <class T>
struct WrappingOf<T, true> {
  using type = std::make_unsigned_t<T>;
};
/// What numbers of T are added and multiplied in, so that integers wrap around.
template <class T>
using Wrapping = typename WrappingOf<T>::type;

template <class T>
constexpr T wrapping_add(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
}
template <class T>
constexpr T wrapping_multiply(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
}
/// -x; the least number is its own opposite.
template <class T>
constexpr T wrapping_negate(T x) {
  return static_cast<T>(Wrapping<T>{0} - static_cast<Wrapping<T>>(x));
}

}  // namespace kiln
