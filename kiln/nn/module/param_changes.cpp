#include "kiln/nn/module/param_changes.hpp"

#include "kiln/nn/walk.hpp"

namespace kiln::nn {

ParamChanges::ParamChanges(const ModuleRef& model, const std::map<std::string, Value>& values) {
  std::map<const ParamIdentity*, std::shared_ptr<const void>> met;  // by the parameter as it was
  const auto prepare = [&](const std::string& path, AnyLeaf& leaf) {
    if (!leaf.is_param() || leaf.empty()) return;
    const auto [entry, is_first] = met.try_emplace(leaf.identity().get());
    if (is_first)
      if (const auto value = values.find(path); value != values.end())
        entry->second = leaf.type().tensor().with_value(leaf.object(), value->second);
    if (entry->second) changes_.push_back({leaf.object(), &leaf.type(), entry->second});
  };
  walk(model, prepare, Visits::InEachPlace);
}

void ParamChanges::put() const noexcept {
  for (const Change& change : changes_) change.type->tensor().tie(change.param, change.changed.get());
}

}  // namespace kiln::nn
