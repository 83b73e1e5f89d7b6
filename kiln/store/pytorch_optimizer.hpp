// The state of PyTorch's optimizers, to go on with a training that began there, or to have it go on there.
//
//   torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "checkpoint.pt")
//
//   load(model, "checkpoint.pt", {.under = "model"});
//   AdamW optimizer = AdamWConfig{}.init(model);
//   load_pytorch_optimizer(optimizer, model, "checkpoint.pt", {.under = "optimizer"});
//   ...
//   save(model, "model.pt");
//   save_pytorch_optimizer(optimizer, model, "optimizer.pt");
//
//   model.load_state_dict(torch.load("model.pt"))
//   optimizer.load_state_dict(optimizer.state_dict() | torch.load("optimizer.pt"))
#pragma once
#include <span>
#include <string>
#include <vector>

#include "kiln/store/save.hpp"

namespace kiln {

/// What an optimizer is but for its types.
struct OptimizerParts {
  std::vector<std::string_view> rules;  // of its groups, by name
  std::vector<RecordPart> state;        // as a record has it
};

/// PyTorch numbers the parameters that its optimizer was given, and Kiln names them: state.0.exp_avg is
/// `params[0]`.first_moment. `options` are those by which the model was loaded, for names and layouts that are PyTorch's,
/// without `under` and close_gaps. Throws LoadError for what the optimizer's rules do not keep in PyTorch, and for a number
/// that `params` does not have; ArgumentError for rules that PyTorch has not, and for close_gaps, as a state may lack
/// parameters.
TensorSource from_pytorch_optimizer(const TensorSource& state, std::span<const std::string> params,
                                    const LoadOptions& options, const OptimizerParts& optimizer, std::string_view file);
/// The other way.
TensorSource to_pytorch_optimizer(const OptimizerParts& optimizer, std::span<const std::string> params);

/// The names of an optimizer's parameters by number, where it was given model.named_parameters(), else none; `under` as in
/// LoadOptions.
std::vector<std::string> pytorch_optimizer_params(const Metadata& metadata, const std::string& under);

/// The paths of a model's parameters in the order of declaration, that of PyTorch's parameters().
std::vector<std::string> params_in_order(const nn::ModuleView& model);

namespace detail {

template <Stateful O>
OptimizerParts optimizer_parts(const O& optimizer) {
  OptimizerParts parts{.rules = {}, .state = parts_of(optimizer)};
  for (const auto& group : optimizer.groups()) parts.rules.push_back(group.rule.name());
  return parts;
}
Fitted fit_pytorch_optimizer(const OptimizerParts& optimizer, const nn::ModuleView& model, const std::string& path,
                             const LoadOptions& options, std::span<const std::string> params);
void save_pytorch_optimizer(const OptimizerParts& optimizer, const nn::ModuleView& model, const std::string& path,
                            std::span<const std::string> params);

}  // namespace detail

/// An optimizer of the same rule takes over the state of one that was given the model's parameters: by the names that the file
/// has, if PyTorch's was given model.named_parameters(), else by `params`, else in the model's order. Names that are
/// PyTorch's become the model's by the same options as in load(). Rates and other options are not taken: the optimizer's own
/// hold. Throws as load(), and as from_pytorch_optimizer().
template <Stateful O>
LoadReport load_pytorch_optimizer(O& optimizer, const nn::ModuleView& model, const std::string& path,
                                  const LoadOptions& options = {}, std::span<const std::string> params = {}) {
  const auto fitted = detail::fit_pytorch_optimizer(detail::optimizer_parts(optimizer), model, path, options, params);
  detail::take_over(optimizer, fitted);
  return fitted.report;
}

/// {"state": {0: {"exp_avg": ..., ...}, ...}}, for one of PyTorch's of the same rule that has the parameters in the model's
/// order, or in that of `params`, which are paths of the model. Throws IoError, and ArgumentError for a rule that PyTorch
/// has not.
template <Stateful O>
void save_pytorch_optimizer(const O& optimizer, const nn::ModuleView& model, const std::string& path,
                            std::span<const std::string> params = {}) {
  detail::save_pytorch_optimizer(detail::optimizer_parts(optimizer), model, path, params);
}

}  // namespace kiln
