#include "kiln/nn/module/functional.hpp"

#include "kiln/core/error/shown.hpp"
#include "kiln/core/error/suggest.hpp"

namespace kiln::nn {

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

}  // namespace kiln::nn
