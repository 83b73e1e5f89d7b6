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

/// The model with each parameter replaced by f(path, value), if that is not `value`. The new values keep their graph:
/// gradients flow through them. f is also called for absent parameters, with an empty value.
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

/// The model with its parameters and buffers replaced by these tensors; the others are unchanged. The tensors keep
/// their graph: they may be leaves or computed, and gradients flow through them, so an update can be part of a program
/// that is differentiated (as in Finn, Abbeel, Levine, "Model-agnostic meta-learning", 2017). A loss of the result is
/// differentiated by backward(), not by value_and_grad(), as the parameters are not the model's own. Throws
/// ArgumentError for a path that the model does not have, ShapeError or DTypeError if a tensor does not match.
template <Module M>
[[nodiscard("with_values() changes no model: it returns one")]] M with_values(M model, const ParamValues& values) {
  nn::put_values(model, values);
  return model;
}

/// The model's forward pass with its tensors replaced: torch.func's functional_call. Updates of batch norms' statistics
/// are discarded.
template <Module M, class... Inputs>
auto functional_call(const M& model, const ParamValues& values, const Inputs&... inputs) {
  return with_values(model, values).forward(inputs...);
}

}  // namespace kiln
