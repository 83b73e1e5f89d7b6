// The kind of a Tensor's elements, a part of its type: Float, Int or Bool. Which of the thirteen element types it is,
// is known only at run time.
#pragma once
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "kiln/core/dtype.hpp"

namespace kiln {

/// The largest of several ranks.
template <int... Ranks>
inline constexpr int kLargest = [] {
  int result = 0;
  ((result = Ranks > result ? Ranks : result), ...);
  return result;
}();

struct Float {
  static constexpr Kind kKind = Kind::Float;
  static constexpr DType kDefault = DType::F32;
  using Literal = double;  // the type of its elements in nested braces
  using Element = float;   // the type that they are read as by default
};
struct Int {
  static constexpr Kind kKind = Kind::Int;
  static constexpr DType kDefault = DType::I64;
  using Literal = std::int64_t;
  using Element = std::int64_t;
};
struct Bool {
  static constexpr Kind kKind = Kind::Bool;
  static constexpr DType kDefault = DType::Bool;
  using Literal = bool;
  using Element = bool;
};

/// A plain number beside tensors.
template <class T>
concept Number = std::is_arithmetic_v<T>;

/// A type that counts dimensions, sizes and positions. bool is excluded: x.sum(0, true) would be PyTorch's "keep",
/// which does not exist here.
template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

template <class T>
using KindOf = std::conditional_t<std::is_same_v<T, bool>, Bool, std::conditional_t<std::is_integral_v<T>, Int, Float>>;

/// The kind to which two operands are brought before they are compared: Float wins over Int, and Int over Bool.
template <class A, class B>
using Joined = std::conditional_t<std::is_same_v<A, Float> || std::is_same_v<B, Float>, Float,
                                  std::conditional_t<std::is_same_v<A, Int> || std::is_same_v<B, Int>, Int, Bool>>;

/// The kind of the result of arithmetic on A and B. Booleans are taken as 0 and 1.
template <class A, class B = A>
using Arithmetic = Joined<Int, Joined<A, B>>;

/// The rows of ops/elementwise.def that are functions of kind K: the constants have the names of their domains.
template <class K>
struct Has {
  static constexpr bool Float = std::is_same_v<K, kiln::Float>;
  static constexpr bool Integer = std::is_same_v<K, kiln::Int>;
  static constexpr bool Bool = std::is_same_v<K, kiln::Bool>;
  static constexpr bool Number = !Bool;
  static constexpr bool Any = true;
};

/// Like Has, but functions of floats take every kind. Computes is the kind in which a row computes K.
template <class K>
struct Takes : Has<K> {
  static constexpr bool Float = true;
};
template <class K>
struct Computes {
  using Float = kiln::Float;
  using Number = K;
  using Integer = K;
  using Bool = kiln::Bool;
  using Any = K;
};

}  // namespace kiln
