// The results of layers inside of a model are seen here without a change of the model.
//
//   const auto [scores, outputs] = watch_layers(model, "blocks.*.attention", [&] { return model.forward(x); });
//   const Tensor<3> third(outputs.at("blocks.2.attention"));
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "kiln/nn/module.hpp"

namespace kiln {

/// The outputs of layers, by the layer's path.
struct LayerOutputs {
  std::map<std::string, Value, std::less<>> by_path;

  /// Throws ArgumentError for a path that is not there, with the most similar one.
  const Value& at(std::string_view path) const;
};

template <class Result>
struct WatchedResult {
  Result result;
  LayerOutputs outputs;
};

namespace nn {
LayerOutputs watch_layers(const ModuleView& model, std::string_view layers, FunctionRef<void()> forward);
}

/// Calls forward(), which uses `model`, and keeps the outputs of the modules whose paths match a pattern (Regex::glob:
/// "conv1", "blocks.*", "**"). The output of a module is the result of the last operation that combines one of its
/// parameters with other data, so it is the value before an activation function that follows; a module without
/// parameters has none. Of a module that is called several times it is that of the last call. Outputs keep their graph,
/// and stay in memory as long as the result of this function. Throws ArgumentError if no module with parameters
/// matches; a module that forward() did not use is left out.
///
/// With value_and_grad(model, f) call it within f, so that it sees the forward pass alone.
template <Module M, class F>
auto watch_layers(const M& model, std::string_view layers, F&& forward) {
  using Result = std::remove_cvref_t<std::invoke_result_t<F&>>;
  std::optional<Result> result;
  LayerOutputs outputs = nn::watch_layers(model, layers, [&] { result.emplace(forward()); });
  return WatchedResult<Result>{std::move(*result), std::move(outputs)};
}

}  // namespace kiln
