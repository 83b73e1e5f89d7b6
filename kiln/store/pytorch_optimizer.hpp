// The state of PyTorch's optimizers, to go on with a training that began there.
//
//   torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "checkpoint.pt")
//
//   load(model, "checkpoint.pt", {.under = "model"});
//   AdamW optimizer = AdamWConfig{}.init(model);
//   load_pytorch_optimizer(optimizer, model, "checkpoint.pt", {.under = "optimizer"});
#pragma once
#include <span>
#include <string>

#include "kiln/store/save.hpp"

namespace kiln {

/// PyTorch numbers the parameters that its optimizer was given, and Kiln names them: state.0.exp_avg is
/// `params[0]`.first_moment. Knows what Adam, AdamW and SGD keep; throws LoadError for anything else below "state", and for a
/// number that `params` does not have.
TensorSource from_pytorch_optimizer(const TensorSource& state, std::span<const std::string> params,
                                    std::string_view file);

/// The paths of a model's parameters in the order of declaration, that of PyTorch's parameters().
std::vector<std::string> params_in_order(const nn::ModuleView& model);

/// An optimizer of the same rule takes over the state of one that was given the model's parameters in their order. Rates
/// and other options are not taken: the optimizer's own hold. Throws as load(), and as from_pytorch_optimizer().
template <Stateful O>
LoadReport load_pytorch_optimizer(O& optimizer, const nn::ModuleView& model, const std::string& path,
                                  const LoadOptions& options = {}) {
  const TensorSource source =
      from_pytorch_optimizer(edited(open_tensors(path), options, path), params_in_order(model), path);
  const auto fitted = detail::fit(source, detail::parts_of(optimizer), detail::kOwner<O>, path, options);
  detail::take_over(optimizer, fitted);
  return fitted.report;
}

}  // namespace kiln
