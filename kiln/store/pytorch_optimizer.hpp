// The state of PyTorch's optimizers: continues in Kiln a training that began in PyTorch, or the reverse.
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

/// An optimizer without its types.
struct OptimizerParts {
  std::vector<std::string_view> rules;  // names of the rules of its groups
  std::vector<RecordPart> state;        // parts as a record has them
};

/// PyTorch numbers the parameters that its optimizer was given, and Kiln names them: state.0.exp_avg becomes
/// `params[0]`.first_moment. `options` are those with which the model was loaded, for names and layouts of PyTorch, but
/// without `under` and close_gaps. Throws LoadError for state that the optimizer's rules do not have in PyTorch, and
/// for a number that `params` does not have; ArgumentError for rules that PyTorch does not have, and for close_gaps,
/// because a state may lack parameters.
TensorSource from_pytorch_optimizer(const TensorSource& state, std::span<const std::string> params,
                                    const LoadOptions& options, const OptimizerParts& optimizer, std::string_view file);
/// Converts in the other direction.
TensorSource to_pytorch_optimizer(const OptimizerParts& optimizer, std::span<const std::string> params);

/// Returns the names of an optimizer's parameters by number, if PyTorch's optimizer was given model.named_parameters(),
/// otherwise none. `under` is that of LoadOptions.
std::vector<std::string> pytorch_optimizer_params(const Metadata& metadata, const std::string& under);

/// Returns the paths of a model's parameters in the order of declaration, which is the order of PyTorch's parameters().
std::vector<std::string> params_in_order(const nn::ModuleView& model);

namespace detail {

template <Stateful O>
OptimizerParts optimizer_parts(const O& optimizer) {
  OptimizerParts parts{.rules = {}, .state = parts_of(optimizer)};
  for (const auto& group : optimizer.groups()) parts.rules.push_back(group.rule.name());
  return parts;
}
LoadedValues fit_pytorch_optimizer(const OptimizerParts& optimizer, const nn::ModuleView& model,
                                   const std::string& path, const LoadOptions& options,
                                   std::span<const std::string> params);
void save_pytorch_optimizer(const OptimizerParts& optimizer, const nn::ModuleView& model, const std::string& path,
                            std::span<const std::string> params);

}  // namespace detail

/// Loads into an optimizer the state of a PyTorch optimizer of the same rule that was given the model's parameters.
/// These are identified by the names in the file if PyTorch's was given model.named_parameters(), otherwise by
/// `params`, otherwise by the model's order. The same options as in load() translate PyTorch's names into the model's.
/// Learning rates and other options are not loaded; the optimizer keeps its own. Throws like load() and
/// from_pytorch_optimizer().
template <Stateful O>
LoadReport load_pytorch_optimizer(O& optimizer, const nn::ModuleView& model, const std::string& path,
                                  const LoadOptions& options = {}, std::span<const std::string> params = {}) {
  const auto fitted = detail::fit_pytorch_optimizer(detail::optimizer_parts(optimizer), model, path, options, params);
  detail::assign(optimizer, fitted);
  return fitted.report;
}

/// Saves {"state": {0: {"exp_avg": ..., ...}, ...}} for a PyTorch optimizer of the same rule that has the parameters in
/// the model's order, or in the order of `params`, which are paths of the model. Throws IoError, and ArgumentError for
/// a rule that PyTorch does not have.
template <Stateful O>
void save_pytorch_optimizer(const O& optimizer, const nn::ModuleView& model, const std::string& path,
                            std::span<const std::string> params = {}) {
  detail::save_pytorch_optimizer(detail::optimizer_parts(optimizer), model, path, params);
}

}  // namespace kiln
