// A model for evaluation: it records no gradients, and is in inference mode.
#pragma once
#include "kiln/nn/module.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln {

namespace training {
void make_still(const nn::ModuleRef& model);
}

/// The model in Mode::Valid with all parameters frozen: computations with it record no graph.
template <Module M>
[[nodiscard("still() changes no model: it returns one")]] M still(M model) {
  training::make_still(model);
  return model;
}

}  // namespace kiln
