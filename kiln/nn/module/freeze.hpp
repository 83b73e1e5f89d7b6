// Which parameters of a model are trained.
//
//   model = freeze(std::move(model), !Selector("head"));    // value_and_grad() and optimizers leave the others alone
#pragma once
#include "kiln/nn/module/selector.hpp"

namespace kiln {

namespace nn {

void set_frozen(std::string_view function, const ModuleRef& model, const Selector& selector, bool frozen);

}  // namespace nn

/// The model with these parameters frozen: saved, moved and counted, but not trained. Its other parameters are
/// unchanged. Batch norm's running statistics are no parameters: valid() keeps them unchanged. Throws ArgumentError if
/// nothing is selected, or one of the selector's paths() is none of the model.
template <Module M>
[[nodiscard("freeze() changes no model: it returns one")]] M freeze(M model,
                                                                    const Selector& selector = Selector::all()) {
  nn::set_frozen("freeze", model, selector, true);
  return model;
}
template <class = void>
nn::NoModule freeze(const nn::NoModule& model, const Selector& = Selector::all()) {
  return model;
}

/// The model with these parameters trained again, from the optimizer's next step on.
template <Module M>
[[nodiscard("unfreeze() changes no model: it returns one")]] M unfreeze(M model,
                                                                        const Selector& selector = Selector::all()) {
  nn::set_frozen("unfreeze", model, selector, false);
  return model;
}

/// The number of elements of the parameters that are not frozen.
std::int64_t num_trained_params(const nn::ModuleView& model);

}  // namespace kiln
