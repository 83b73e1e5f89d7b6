// Less common special functions; ops/special/special.hpp has their contracts.
#pragma once
#include "kiln/ops/special/special.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

#define KILN_SPECIAL_OF_1(Name, function, ...) \
  template <int D, class K>                    \
  Tensor<D> function(const Tensor<D, K>& x) {  \
    return Typed{function(x.value())};         \
  }
// Takes a tensor and a number, in either order, or two tensors.
#define KILN_SPECIAL_OF_2(Name, function, ...)                                                     \
  template <Operand X, Operand Y>                                                                  \
  requires(!(Number<X> && Number<Y>)) Tensor<kJoinedRank<X, Y>> function(const X& x, const Y& y) { \
    return Typed{function(Value(x), Value(y))};                                                    \
  }
#define KILN_SPECIAL_OF_3(Name, function, ...)                                                 \
  template <int D, class K, Operand Y>                                                         \
  Tensor<kJoinedRank<Tensor<D, K>, Y>> function(const Tensor<D, K>& x, const Y& y, double w) { \
    return Typed{function(x.value(), Value(y), w)};                                            \
  }
#include "kiln/ops/special/special.def"

#define KILN_SPECIAL_OF_2(function)                                                                \
  template <Operand X, Operand Y>                                                                  \
  requires(!(Number<X> && Number<Y>)) Tensor<kJoinedRank<X, Y>> function(const X& x, const Y& y) { \
    return Typed{function(Value(x), Value(y))};                                                    \
  }
KILN_SPECIAL_OF_2(xlog1py)
KILN_SPECIAL_OF_2(logaddexp2)
KILN_SPECIAL_OF_2(shifted_chebyshev_t)
KILN_SPECIAL_OF_2(shifted_chebyshev_u)
KILN_SPECIAL_OF_2(shifted_chebyshev_v)
KILN_SPECIAL_OF_2(shifted_chebyshev_w)
KILN_SPECIAL_OF_2(ldexp)
KILN_SPECIAL_OF_2(nextafter)
#undef KILN_SPECIAL_OF_2

/// Takes tensors and numbers; x is between 0 and 1.
template <Operand A, Operand B, int D, class K>
Tensor<kLargest<OperandTraits<A>::kRank, OperandTraits<B>::kRank, D>> betainc(const A& a, const B& b,
                                                                              const Tensor<D, K>& x) {
  return Typed{betainc(Value(a), Value(b), x.value())};
}
template <int D, class K>
Tensor<D> entr(const Tensor<D, K>& x) {
  return Typed{entr(x.value())};
}
template <int D, class K>
Tensor<D> mvlgamma(const Tensor<D, K>& x, std::int64_t p) {
  return Typed{mvlgamma(x.value(), p)};
}

/// auto [mantissa, exponent] = frexp(x);
template <int D>
struct TensorFrexp {
  Tensor<D> mantissa;
  Tensor<D, Int> exponent;
};
template <int D, class K>
TensorFrexp<D> frexp(const Tensor<D, K>& x) {
  const Frexp parts = frexp(x.value());
  return {Typed{parts.mantissa}, Typed{parts.exponent}};
}

template <int D, Operand Y>
requires std::is_same_v<KindOfOperand<Y>, Int>
Tensor<kJoinedRank<Tensor<D, Int>, Y>, Int> gcd(const Tensor<D, Int>& x, const Y& y) {
  return Typed{gcd(x.value(), value_of(y))};
}
template <int D, Operand Y>
requires std::is_same_v<KindOfOperand<Y>, Int>
Tensor<kJoinedRank<Tensor<D, Int>, Y>, Int> lcm(const Tensor<D, Int>& x, const Y& y) {
  return Typed{lcm(x.value(), value_of(y))};
}

}  // namespace kiln
