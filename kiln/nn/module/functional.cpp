#include "kiln/nn/module/functional.hpp"

#include "kiln/core/error/shown.hpp"
#include "kiln/core/error/suggest.hpp"

namespace kiln {
namespace {

/// Throws ArgumentError for a path that is not in `known`, ShapeError for a value of another shape.
void require_known(std::string_view function, const ParamValues& known, const ParamValues& values) {
  std::vector<std::string_view> names;
  for (const auto& [path, value] : known) names.push_back(path);
  for (const auto& [path, value] : values) {
    const auto found = known.find(path);
    require<ArgumentError>(found != known.end(), function, ": the model has no '", shown(path), '\'',
                           did_you_mean(path, names));
    require<ShapeError>(found->second.shape() == value.shape(), function, ": '", path, "' has shape ",
                        found->second.shape(), ", the tensor for it ", value.shape());
  }
}

}  // namespace

ParamValues values_of(const nn::ModuleView& model) {
  ParamValues values;
  visit_tensors(model, [&](const std::string& path, const Value& value) { values.emplace(path, value); });
  return values;
}

void nn::put_values(const ModuleRef& model, const ParamValues& values) {
  require_known("with_values", values_of(model), values);
  walk(model, [&](const std::string& path, AnyLeaf& leaf) {
    const auto found = values.find(path);
    if (found == values.end()) return;
    if (leaf.is_param()) leaf.set_computed(found->second);
    else if (leaf.is_buffer()) leaf.set(found->second);
  });
}

}  // namespace kiln
