// Free functions for the rows of elementwise.def that tensors have no method for, because names.def does not list them:
// functions that few programs need, or that were added recently.
#pragma once
#include "kiln/ops/elementwise/rows.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

#define KILN_FUNCTION_OF_1(function, domain, Result)                               \
  template <int D, class K>                                                        \
  requires(Takes<K>::domain && !requires(const Tensor<D, K>& x) { x.function(); }) \
  Tensor<D, Result> function(const Tensor<D, K>& x) {                              \
    return Typed{function(x.value())};                                             \
  }
#define KILN_FUNCTION_OF_2(function, domain, Takes, Result)                                     \
  template <int D, class K, Operand Y, class L = KindOfOperand<Y>>                              \
  requires(Takes<K>::domain && !requires(const Tensor<D, K>& x, const Y& y) { x.function(y); }) \
  Tensor<kJoinedRank<Tensor<D, K>, Y>, Result> function(const Tensor<D, K>& x, const Y& y) {    \
    return Typed{function(x.value(), Value(value_of(y)))};                                      \
  }                                                                                             \
  template <Number N, int D, class K, class L = KindOf<N>>                                      \
  requires(Takes<K>::domain && !requires(N x, const Tensor<D, K>& y) { y.function(x); })        \
  Tensor<D, Result> function(N x, const Tensor<D, K>& y) {                                      \
    return Typed{function(Value(x), y.value())};                                                \
  }
#define KILN_COMMA ,
#define KILN_UNARY(Name, function, domain, ...) KILN_FUNCTION_OF_1(function, domain, typename Computes<K>::domain)
#define KILN_PREDICATE(Name, function, domain, ...) KILN_FUNCTION_OF_1(function, domain, Bool)
#define KILN_BINARY(Name, function, domain, ...) \
  KILN_FUNCTION_OF_2(function, domain, Takes, Joined<typename Computes<K>::domain KILN_COMMA L>)
#define KILN_COMPARISON(Name, function, domain, ...) KILN_FUNCTION_OF_2(function, domain, Has, Bool)
#include "kiln/ops/elementwise/elementwise.def"
#undef KILN_COMMA
#undef KILN_FUNCTION_OF_1
#undef KILN_FUNCTION_OF_2

}  // namespace kiln
