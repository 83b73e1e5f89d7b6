#include "kiln/nn/module/freeze.hpp"

namespace kiln {

void nn::set_frozen(std::string_view function, const ModuleRef& model, const Selector& selector, bool frozen) {
  const Paths paths = selected(function, params_with_paths(model), selector);
  visit_params(model, [&](const std::string& path, AnyLeaf& param) {
    if (paths.contains(path) && param.is_frozen() != frozen) param.set_frozen(frozen);
  });
}

std::int64_t num_trained_params(const nn::ModuleView& model) {
  std::int64_t count = 0;
  visit_params(model, [&](const nn::PartPath&, const nn::AnyLeaf& param) {
    if (!param.is_frozen()) count += param.numel();
  });
  return count;
}

}  // namespace kiln
