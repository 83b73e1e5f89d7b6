// Derivatives of functions of one tensor, with their ranks; autodiff/derivative.hpp has the contracts.
//
//   auto [y, dy] = jvp([](const Tensor<1>& x) { return x.exp(); }, x, direction);
//   Tensor<2> j = jacobian([&](const Tensor<1>& x) { return w.matmul(x.unsqueeze(-1)).squeeze(-1); }, x);
#pragma once
#include "kiln/autodiff/derivative.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

template <class F, int D>
using ResultOf = std::remove_cvref_t<std::invoke_result_t<F&, const Tensor<D>&>>;

template <int D, int E>
struct TensorAndDerivative {
  TensorAndDerivative(ValueAndDerivative both)
      : value(Typed{std::move(both.value)}), derivative(Typed{std::move(both.derivative)}) {}
  Tensor<D> value;
  Tensor<E> derivative;
};

/// f(x), and the derivative of f(x + t * direction) by t at 0.
template <int D, class F>
TensorAndDerivative<ResultOf<F, D>::kRank, ResultOf<F, D>::kRank> jvp(F&& f, const Tensor<D>& x,
                                                                      const Tensor<D>& direction,
                                                                      const BackwardOptions& options = {}) {
  return jvp([&](const Value& at) { return f(Tensor<D>(at)).value(); }, x.value(), direction.value(), options);
}
/// f(x), and the gradient of sum(f(x) * seed) by x.
template <int D, class F>
TensorAndDerivative<ResultOf<F, D>::kRank, D> vjp(F&& f, const Tensor<D>& x, const ResultOf<F, D>& seed,
                                                  const BackwardOptions& options = {}) {
  return vjp([&](const Value& at) { return f(Tensor<D>(at)).value(); }, x.value(), seed.value(), options);
}
/// [shape of f(x)..., shape of x...]
template <int D, class F>
Tensor<ResultOf<F, D>::kRank + D> jacobian(F&& f, const Tensor<D>& x, const BackwardOptions& options = {}) {
  return Typed{jacobian([&](const Value& at) { return f(Tensor<D>(at)).value(); }, x.value(), options)};
}
/// [shape of x..., shape of x...], for an f(x) of rank 0.
template <int D, class F>
requires(ResultOf<F, D>::kRank == 0)
Tensor<D + D> hessian(F&& f, const Tensor<D>& x, const BackwardOptions& options = {}) {
  return Typed{hessian([&](const Value& at) { return f(Tensor<D>(at)).value(); }, x.value(), options)};
}

}  // namespace kiln
