// Typed gradients with respect to any tensors, not only leaves.
#pragma once
#include <tuple>

#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// The gradient of sum(loss) with respect to `wrt`: a tensor like it, zeros where loss does not depend on it. With
/// {.create_graph = true} it is differentiable again. Throws AutodiffError for a tensor that is not tracked.
template <int D, int E>
Tensor<E> grad(const Tensor<D>& loss, const Tensor<E>& wrt, const BackwardOptions& options = {}) {
  return Typed{grad(loss.value(), {&wrt.value(), 1}, options)[0]};
}
/// Gradients with respect to several tensors: auto [gx, gy] = grad(loss, std::tie(x, y));
template <int D, class... Ts>
std::tuple<Tensor<Ts::kRank>...> grad(const Tensor<D>& loss, const std::tuple<Ts&...>& wrt,
                                      const BackwardOptions& options = {}) {
  const Values values = std::apply([](const auto&... each) { return Values{each.value()...}; }, wrt);
  Values grads = grad(loss.value(), values, options);
  std::size_t next = 0;
  return {Tensor<Ts::kRank>(Typed{std::move(grads[next++])})...};
}

}  // namespace kiln
