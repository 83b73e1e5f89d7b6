// Sums and products of integers modulo 2 to the number of their bits, which C++ defines for unsigned types alone;
// floats are added and multiplied as usual.
#pragma once
#include <type_traits>

namespace kiln {

template <class T, bool = std::is_integral_v<T> && sizeof(T) >= sizeof(unsigned)>
struct WrappingOf {
  using type = std::conditional_t<std::is_integral_v<T>, unsigned, T>;  // C++ would promote a shorter type to int
};
template <class T>
struct WrappingOf<T, true> {
  using type = std::make_unsigned_t<T>;
};
/// The type in which numbers of T are added and multiplied, so that integers wrap around.
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
/// -x; the least number is its own negative.
template <class T>
constexpr T wrapping_negate(T x) {
  return static_cast<T>(Wrapping<T>{0} - static_cast<Wrapping<T>>(x));
}

}  // namespace kiln
