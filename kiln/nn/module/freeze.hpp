// Which parameters of a model are trained.
//
//   model = freeze(std::move(model), !Selector("head"));    // value_and_grad() and optimizers leave the others alone
#pragma once
#include <utility>

#include "kiln/nn/module/selector.hpp"

namespace kiln {

namespace nn {

template <Module M>
M with_frozen(std::string_view function, M model, const Selector& selector, bool frozen) {
  const Paths paths = selected(function, placed_params(model), selector);
  visit_params(model, [&](const std::string& path, auto& param) {
    if (paths.contains(path) && param.is_frozen() != frozen) param = param.with_frozen(frozen);
  });
  return model;
}

}  // namespace nn

/// The model with these parameters frozen: saved, moved and counted, but not trained. Its other parameters stay as they
/// are. Batch norm's running statistics are no parameters: valid() keeps them where they are. Throws ArgumentError where
/// nothing is selected.
template <Module M>
M freeze(M model, const Selector& selector = Selector::all()) {
  return nn::with_frozen("freeze", std::move(model), selector, true);
}

/// The model with these parameters trained again, from the optimizer's next step on.
template <Module M>
M unfreeze(M model, const Selector& selector = Selector::all()) {
  return nn::with_frozen("unfreeze", std::move(model), selector, false);
}

/// Elements of the parameters that are not frozen.
template <Module M>
std::int64_t num_trained_params(const M& model) {
  std::int64_t count = 0;
  visit_params(model, [&](const std::string&, const auto& param) { count += param.is_frozen() ? 0 : param.numel(); });
  return count;
}

}  // namespace kiln
