// A model as it is measured: nothing that is done with it can record gradients, and it behaves as it is to be used.
#pragma once
#include "kiln/nn/module.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln {

namespace training {
void make_still(const nn::ModuleRef& model);
}

/// The model in Mode::Valid with all parameters frozen: whatever is computed with it leaves no tape.
template <Module M>
[[nodiscard("still() changes no model: it returns one")]] M still(M model) {
  training::make_still(model);
  return model;
}

}  // namespace kiln
