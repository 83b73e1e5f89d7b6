// A model as it is measured: nothing that is done with it can record gradients, and it behaves as it is to be used.
#pragma once
#include <utility>

#include "kiln/nn/module.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln {

/// The model in Mode::Valid with all parameters frozen: whatever is computed with it leaves no tape.
template <Module M>
M still(M model) {
  model = valid(std::move(model));
  visit_params(model, [](const std::string&, auto& param) { param.set_frozen(true); });
  return model;
}

}  // namespace kiln
