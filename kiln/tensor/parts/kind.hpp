// What a Tensor's type says of its elements: Float, Int or Bool. Which of the thirteen element types it is, is known
// at run time.
#pragma once
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "kiln/core/dtype.hpp"

namespace kiln {

/// The largest of a few ranks.
template <int... Ranks>
inline constexpr int kLargest = [] {
  int result = 0;
  ((result = Ranks > result ? Ranks : result), ...);
  return result;
}();

struct Float {
  static constexpr Kind kKind = Kind::Float;
  static constexpr DType kDefault = DType::F32;
  using Literal = double;  // how its elements are written in nested braces
  using Element = float;   // what they are read as where nothing else is said
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

/// What counts dimensions, sizes and places. A bool does not: x.sum(0, true) would be PyTorch's "keep", and means nothing
/// here.
template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

template <class T>
using KindOf = std::conditional_t<std::is_same_v<T, bool>, Bool, std::conditional_t<std::is_integral_v<T>, Int, Float>>;

/// Float wins over Int, and Int over Bool: what two operands are brought to before they are compared.
template <class A, class B>
using Joined = std::conditional_t<std::is_same_v<A, Float> || std::is_same_v<B, Float>, Float,
                                  std::conditional_t<std::is_same_v<A, Int> || std::is_same_v<B, Int>, Int, Bool>>;

/// The kind that arithmetic on A and B gives. Booleans count as 0 and 1.
template <class A, class B = A>
using Arithmetic = Joined<Int, Joined<A, B>>;

/// Which rows of ops/elementwise.def are functions of kind K: the constants bear the names of their domains.
template <class K>
struct Has {
  static constexpr bool Float = std::is_same_v<K, kiln::Float>;
  static constexpr bool Integer = std::is_same_v<K, kiln::Int>;
  static constexpr bool Bool = std::is_same_v<K, kiln::Bool>;
  static constexpr bool Number = !Bool;
  static constexpr bool Any = true;
};

/// The same, but for functions of floats, which take every kind; and the kind that a row computes K in.
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
