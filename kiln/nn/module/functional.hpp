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
[[nodiscard("with_computed() changes no model: it returns one")]] M with_computed(M model, F&& f) {
  walk(model, [&](const std::string& path, AnyLeaf& leaf) {
    if (!leaf.is_param()) return;
    const Value value = f(path, leaf.value());
    if (value.node() != leaf.value().node() || value.tape() != leaf.value().tape()) leaf.set_computed(value);
  });
  return model;
}

void put_values(const ModuleRef& model, const ParamValues& values);

}  // namespace nn

/// The model's parameters and buffers.
ParamValues values_of(const nn::ModuleView& model);

/// The model with these tensors in the places of its own parameters and buffers; the others stay. They are what they are:
/// leaves of somebody else's graph, or computed from such, through which gradients flow, so an update can be part of a
/// program that is differentiated (as in Finn, Abbeel, Levine, "Model-agnostic meta-learning", 2017). A loss of the result
/// is differentiated by backward(), not by value_and_grad(), as the parameters are none of the model's.
/// Throws ArgumentError for a path that the model has not, ShapeError or DTypeError where a tensor is another.
template <Module M>
M with_values(M model, const ParamValues& values) {
  nn::put_values(model, values);
  return model;
}

/// The model's forward pass with other tensors in the places of its own: torch.func's functional_call. What batch norm
/// learns about such a pass is not kept.
template <Module M, class... Inputs>
auto functional_call(const M& model, const ParamValues& values, const Inputs&... inputs) {
  return with_values(model, values).forward(inputs...);
}

}  // namespace kiln
