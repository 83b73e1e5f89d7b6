// capture(function, examples...): a function of tensors as a graph that can be printed and replayed.
//
//   auto step = capture([&](const Tensor<2>& x) { return x.matmul(w).relu(); }, x);
//   print(step.text());
//   Tensor<2> y = step(other_x);
#pragma once
#include <tuple>

#include "kiln/backend/capture/graph.hpp"
#include "kiln/backend/capture/graphviz.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

namespace detail {

template <class Result>
struct CapturedResult {
  static Values values(const Result& result) { return {result.value()}; }
  static Result typed(const Values& values) { return Result(values[0]); }
};
template <class... Ts>
struct CapturedResult<std::tuple<Ts...>> {
  static Values values(const std::tuple<Ts...>& result) {
    return std::apply([](const Ts&... each) { return Values{each.value()...}; }, result);
  }
  static std::tuple<Ts...> typed(const Values& values) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple<Ts...>(Ts(values[I])...);
    }(std::index_sequence_for<Ts...>());
  }
};

}  // namespace detail

/// A recorded function with the parameter and result types of the original one.
template <class Result, class... Args>
class Captured {
 public:
  explicit Captured(Graph graph) : graph_(std::move(graph)) {}

  /// Throws ShapeError or DTypeError where inputs are not like the examples.
  Result operator()(const Args&... inputs) const { return replay({}, inputs...); }
  /// Replays with other random numbers: replay({.key = key}, x)
  Result replay(const ReplayOptions& options, const Args&... inputs) const {
    return detail::CapturedResult<Result>::typed(graph_.replay(Values{inputs.value()...}, options));
  }
  const Graph& graph() const { return graph_; }
  /// The graph, one operation to a line.
  std::string text() const { return kiln::text(graph_); }
  /// The graph as a drawing; see kiln/backend/capture/graphviz.hpp.
  std::string graphviz(const GraphvizOptions& options = {}) const { return kiln::graphviz(graph_, options); }

 private:
  Graph graph_;
};

/// Records what `function` does with tensors like `examples`, without computing it; see capture_graph. The function
/// returns a tensor or a std::tuple of tensors. Gradients flow through replays to examples that were tracked, and to
/// parameters. Warns once on the standard error stream if dropout is active.
template <class F, class... Args>
auto capture(F&& function, const Args&... examples) {
  using Result = std::remove_cvref_t<std::invoke_result_t<F&, const Args&...>>;
  const auto record = [&](const Values& in) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return detail::CapturedResult<Result>::values(function(Args(in[I])...));
    }(std::index_sequence_for<Args...>());
  };
  Graph graph = capture_graph(record, Values{examples.value()...});
  watch_dropout(graph);
  return Captured<Result, Args...>(std::move(graph));
}

}  // namespace kiln
