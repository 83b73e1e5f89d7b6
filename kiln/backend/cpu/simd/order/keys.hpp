// Maps elements to keys: unsigned integers of the same size and order. NaN comes last, and -0 equals 0.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kiln/core/half.hpp"

namespace kiln::cpu::simd {

template <std::size_t bytes>
using KeyOfSize = std::conditional_t<
    bytes == 1, std::uint8_t,
    std::conditional_t<bytes == 2, std::uint16_t, std::conditional_t<bytes == 4, std::uint32_t, std::uint64_t>>>;
template <class T>
using Key = KeyOfSize<sizeof(T)>;

/// The bits of infinity. The magnitudes of NaN have larger bits.
template <class T>
constexpr Key<T> infinity_bits() {
  if constexpr (std::is_same_v<T, F16>) return 0x7c00;
  else if constexpr (std::is_same_v<T, BF16>) return 0x7f80;
  else return std::bit_cast<Key<T>>(std::numeric_limits<T>::infinity());
}

/// Returns the key of an element. T is any element type but bool, which is ordered as uint8.
template <class T>
constexpr Key<T> key_of(T x) {
  using K = Key<T>;
  constexpr K sign = static_cast<K>(K{1} << (8 * sizeof(K) - 1)), all = static_cast<K>(~K{0});
  const K bits = std::bit_cast<K>(x);
  if constexpr (std::is_integral_v<T>) {
    return std::is_signed_v<T> ? static_cast<K>(bits ^ sign) : bits;
  } else {
    const K magnitude = static_cast<K>(bits & ~sign);
    const K ordered = static_cast<K>(bits & sign ? ~bits : bits | sign);
    return magnitude > infinity_bits<T>() ? all : magnitude == 0 ? sign : ordered;
  }
}

/// Returns whether a key belongs to a single element. Both zeros share one key, and all NaN share another.
template <class T>
constexpr bool is_unique_key(Key<T> key) {
  if constexpr (std::is_integral_v<T>) return true;
  else return key != key_of(T(0)) && key != static_cast<Key<T>>(~Key<T>{0});
}
/// Returns the element of a key for which is_unique_key() is true.
template <class T>
constexpr T element_of(Key<T> key) {
  using K = Key<T>;
  constexpr K sign = static_cast<K>(K{1} << (8 * sizeof(K) - 1));
  if constexpr (std::is_integral_v<T>) return std::bit_cast<T>(static_cast<K>(std::is_signed_v<T> ? key ^ sign : key));
  else return std::bit_cast<T>(static_cast<K>(key & sign ? key ^ sign : ~key));
}

/// T is any element type but bool, which is ordered as uint8.
template <class T>
struct OrderKernels {
  /// Writes the keys of `count` elements, or their complements, which have the opposite order, if `descending`.
  void (*keys)(const T* x, std::int64_t count, bool descending, Key<T>* keys);
  /// Returns whether one of `count` keys is below the limit.
  bool (*any_below)(const Key<T>* keys, std::int64_t count, Key<T> limit);
};
/// Returns the functions for the instruction set of this machine.
template <class T> const OrderKernels<T>& order_kernels();

}  // namespace kiln::cpu::simd
