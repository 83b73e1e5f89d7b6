// Operators and elementwise functions of tensors and plain numbers, in any order. Shapes broadcast as in NumPy, so
// ranks may differ: the result has the larger rank. Kinds promote: Float over Int over Bool; a plain number changes the
// element type only where its kind is higher. `/` is true division and always gives Float.
#pragma once
#include "kiln/tensor/tensor.hpp"

namespace kiln {

// `==` and `!=` compare elementwise, as `<` does; a Tensor does not convert to bool, so that `if (x == y)` does not
// compile.
#define KILN_OPERATOR(symbol, function, Result)                                                   \
  template <int D, class K, int E, class L>                                                       \
  Tensor<(D < E ? E : D), Result> operator symbol(const Tensor<D, K>& x, const Tensor<E, L>& y) { \
    return Typed{function(x.value(), y.value())};                                                 \
  }                                                                                               \
  template <int D, class K, Number N, class L = KindOf<N>>                                        \
  Tensor<D, Result> operator symbol(const Tensor<D, K>& x, N y) {                                 \
    return Typed{function(x.value(), y)};                                                         \
  }                                                                                               \
  template <Number N, int D, class L, class K = KindOf<N>>                                        \
  Tensor<D, Result> operator symbol(N x, const Tensor<D, L>& y) {                                 \
    return Typed{function(x, y.value())};                                                         \
  }
#define KILN_COMMA ,
KILN_OPERATOR(+, add, Arithmetic<K KILN_COMMA L>)
KILN_OPERATOR(-, sub, Arithmetic<K KILN_COMMA L>)
KILN_OPERATOR(*, mul, Arithmetic<K KILN_COMMA L>)
KILN_OPERATOR(/, div, Float)
KILN_OPERATOR(%, remainder, Arithmetic<K KILN_COMMA L>)  // has the sign of y, as in Python
KILN_OPERATOR(==, eq, Bool)
KILN_OPERATOR(!=, ne, Bool)
KILN_OPERATOR(<, lt, Bool)
KILN_OPERATOR(<=, le, Bool)
KILN_OPERATOR(>, gt, Bool)
KILN_OPERATOR(>=, ge, Bool)
#undef KILN_COMMA
#undef KILN_OPERATOR

template <int D, class K>
requires Has<K>::Number Tensor<D, K> operator-(const Tensor<D, K>& x) {
  return x.neg();
}

// Logic on booleans and on the bits of integers. There are no && and ||: overloaded, they would evaluate both sides.
template <class X, class Y>
concept BitOperands = Operand<X> && Operand<Y> && !(Number<X> && Number<Y>) &&
                      !std::is_same_v<KindOfOperand<X>, Float> && !std::is_same_v<KindOfOperand<Y>, Float>;
#define KILN_BIT_OPERATOR(symbol, function)                                                                         \
  template <class X, class Y>                                                                                       \
  requires BitOperands<X, Y>                                                                                        \
  Tensor<kJoinedRank<X, Y>, Joined<KindOfOperand<X>, KindOfOperand<Y>>> operator symbol(const X & x, const Y & y) { \
    return Typed{function(Value(x), Value(y))};                                                                     \
  }
KILN_BIT_OPERATOR(&, bitwise_and)
KILN_BIT_OPERATOR(|, bitwise_or)
KILN_BIT_OPERATOR(^, bitwise_xor)
#undef KILN_BIT_OPERATOR
template <int D, Operand Y>
requires std::is_same_v<KindOfOperand<Y>, Int>
Tensor<kJoinedRank<Tensor<D, Int>, Y>, Int> operator<<(const Tensor<D, Int>& x, const Y& y) {
  return x.shift_left(y);
}
template <int D, Operand Y>
requires std::is_same_v<KindOfOperand<Y>, Int>
Tensor<kJoinedRank<Tensor<D, Int>, Y>, Int> operator>>(const Tensor<D, Int>& x, const Y& y) {
  return x.shift_right(y);
}
template <int D>
Tensor<D, Int> operator~(const Tensor<D, Int>& x) {
  return x.bitwise_not();
}
template <int D>
Tensor<D, Bool> operator!(const Tensor<D, Bool>& x) {
  return x.logical_not();
}

template <int D, class K, Operand Y>
Tensor<D, K>& operator+=(Tensor<D, K>& x, const Y& y) {
  return x = x + y;
}
template <int D, class K, Operand Y>
Tensor<D, K>& operator-=(Tensor<D, K>& x, const Y& y) {
  return x = x - y;
}
template <int D, class K, Operand Y>
Tensor<D, K>& operator*=(Tensor<D, K>& x, const Y& y) {
  return x = x * y;
}
template <int D, class K, Operand Y>
Tensor<D, K>& operator/=(Tensor<D, K>& x, const Y& y) {
  return x = x / y;
}

// exp(x) is x.exp(), pow(x, y) is x.pow(y); pow(2, x) has the number first.
#define KILN_UNARY(function, domain)     \
  template <int D, class K>              \
  auto function(const Tensor<D, K>& x) { \
    return x.function();                 \
  }
#define KILN_PREDICATE(function, domain) KILN_UNARY(function, domain)
#define KILN_BINARY(function, domain)                                                               \
  template <int D, class K, Operand Y>                                                              \
  auto function(const Tensor<D, K>& x, const Y& y) {                                                \
    return x.function(y);                                                                           \
  }                                                                                                 \
  template <Number N, int D, class K>                                                               \
  requires Takes<K>::domain                                                                         \
  Tensor<D, Joined<KindOf<N>, typename Computes<K>::domain>> function(N x, const Tensor<D, K>& y) { \
    return Typed{function(Value(x), y.value())};                                                    \
  }
#define KILN_COMPARISON(function, domain)                                        \
  template <int D, class K, Operand Y>                                           \
  auto function(const Tensor<D, K>& x, const Y& y) {                             \
    return x.function(y);                                                        \
  }                                                                              \
  template <Number N, int D, class K>                                            \
  requires Has<K>::domain Tensor<D, Bool> function(N x, const Tensor<D, K>& y) { \
    return Typed{function(Value(x), y.value())};                                 \
  }
#include "kiln/ops/elementwise/names.def"

/// condition ? x : y, elementwise; all three broadcast.
template <int D, Operand X, Operand Y>
Tensor<kJoinedRank<Tensor<D, Bool>, Tensor<kJoinedRank<X, Y>>>, Joined<KindOfOperand<X>, KindOfOperand<Y>>> where(
    const Tensor<D, Bool>& condition, const X& x, const Y& y) {
  return Typed{where(condition.value(), Value(x), Value(y))};
}

}  // namespace kiln
