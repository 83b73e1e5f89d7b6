// vmap(function, xs...): a function of single examples, for many at once.
//
//   Tensor<2> shares = vmap([](const Tensor<1>& x) { return x.softmax(0); }, rows);   // rows [examples, n]
//   Tensor<2> slopes = vmap([&](const Tensor<1>& x) { return grad(loss(w, x), x); }, rows);
#pragma once
#include "kiln/backend/capture/batched.hpp"
#include "kiln/tensor/capture.hpp"

namespace kiln {

namespace detail {

template <class T>
struct Example {};
template <int D, class K>
requires(D >= 1) struct Example<Tensor<D, K>> {
  using type = Tensor<D - 1, K>;
};
template <class T>
struct Batch {};
template <int D, class K>
struct Batch<Tensor<D, K>> {
  using type = Tensor<D + 1, K>;
};
template <class... Ts>
struct Batch<std::tuple<Ts...>> {
  using type = std::tuple<typename Batch<Ts>::type...>;
};

/// A tensor like one example of x, tracked if x is; its elements are not read.
Value example_of(const Value& x);

}  // namespace detail

/// The result of `function` for each index of dimension 0 of all xs, as dimension 0: a tensor, or a std::tuple of
/// tensors. The function is captured once, and each of its operations runs for all examples together where that can be
/// said; see batched_replay. It must not read tensors, and its shapes must not depend on elements. Gradients flow to xs
/// and to what the function captures. Throws ShapeError for different numbers of
/// examples; a tensor of rank 0 does not compile.
template <class F, class... Args>
auto vmap(F&& function, const Args&... xs) {
  using Result = std::remove_cvref_t<std::invoke_result_t<F&, const typename detail::Example<Args>::type&...>>;
  using All = typename detail::Batch<Result>::type;
  const auto record = [&](const Values& in) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return detail::CapturedResult<Result>::values(function(typename detail::Example<Args>::type(in[I])...));
    }(std::index_sequence_for<Args...>());
  };
  const Graph graph = capture_graph(record, Values{detail::example_of(xs.value())...});
  return detail::CapturedResult<All>::typed(batched_replay(graph, Values{xs.value()...}));
}

}  // namespace kiln
