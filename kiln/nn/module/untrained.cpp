#include "kiln/nn/module/untrained.hpp"

#include "kiln/core/error/say_once.hpp"
#include "kiln/ops/record.hpp"

namespace kiln::nn {

void watch_untrained(const PartPath& place, const AnyLeaf& leaf) {
  if (!leaf.is_constant() || !leaf.tracked() || !leaf.value().tape()->is_leaf()) [[likely]]
    return;
  const std::string_view model = place.types.empty() ? "the model" : place.types.front();
  say_once(text("the tensor '", place.path, "' of ", model,
                " requires gradients and is no parameter, so it is neither trained nor saved: declare it as nn::Param<",
                leaf.value().rank(), ">, or detach() it"));
}

std::string advice_without_params(const ModuleView& model) {
  std::string paths, first;
  walk(model, [&](const PartPath& place, const AnyLeaf& leaf) {
    if (!leaf.is_constant() || leaf.empty()) return;
    if (first.empty())
      first = text("nn::Param<", leaf.value().rank(), "> ", place.path.substr(place.path.rfind('.') + 1));
    paths += text(paths.empty() ? "'" : ", '", place.path, '\'');
  });
  return paths.empty() ? "" : text("; its tensors (", paths, ") are constants: declare what is trained as ", first);
}

}  // namespace kiln::nn
