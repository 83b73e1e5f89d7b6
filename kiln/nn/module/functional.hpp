// A model with other parameters, for one use.
#pragma once
#include <map>
#include <string>
#include <utility>

#include "kiln/nn/module.hpp"

namespace kiln {

/// Tensors by their path in a model.
using ParamValues = std::map<std::string, Value, std::less<>>;

namespace nn {

/// The model with each parameter that is f(path, value) rather than `value`. What f computed keeps its graph: gradients go
/// through it to what it was made of. Absent parameters are asked for as well, by an empty value.
template <Module M, class F>
M with_computed(M model, F&& f) {
  walk(model, [&]<class L>(const std::string& path, L& leaf) {
    if constexpr (ParamLike<L>) {
      const Value value = f(path, leaf.value());
      if (value.node() != leaf.value().node() || value.tape() != leaf.value().tape()) leaf = L::computed(value);
    }
  });
  return model;
}

/// Throws ArgumentError for a path that `known` has not, ShapeError for a value of another shape.
void require_known(std::string_view function, const ParamValues& known, const ParamValues& values);

}  // namespace nn

/// The model's parameters and buffers.
template <Module M>
ParamValues values_of(const M& model) {
  ParamValues values;
  visit_tensors(model, [&](const std::string& path, const Value& value) { values.emplace(path, value); });
  return values;
}

/// The model with these tensors in the places of its own parameters and buffers; the others stay. They are what they are:
/// leaves of somebody else's graph, or computed from such, through which gradients flow, so an update can be part of a
/// program that is differentiated (as in Finn, Abbeel, Levine, "Model-agnostic meta-learning", 2017). A loss of the result
/// is differentiated by backward(), not by value_and_grad(), as the parameters are none of the model's.
/// Throws ArgumentError for a path that the model has not, ShapeError or DTypeError where a tensor is another.
template <Module M>
M with_values(M model, const ParamValues& values) {
  nn::require_known("with_values", values_of(model), values);
  nn::walk(model, [&]<class L>(const std::string& path, L& leaf) {
    if constexpr (nn::ParamLike<L> || nn::BufferLike<L>) {
      const auto found = values.find(path);
      if (found == values.end()) return;
      if constexpr (nn::ParamLike<L>) leaf = L::computed(found->second);
      else leaf = L(found->second);
    }
  });
  return model;
}

/// The model's forward pass with other tensors in the places of its own: torch.func's functional_call. What batch norm
/// learns about such a pass is not kept.
template <Module M, class... Inputs>
auto functional_call(const M& model, const ParamValues& values, const Inputs&... inputs) {
  return with_values(model, values).forward(inputs...);
}

}  // namespace kiln
