#include "kiln/nn/module/place.hpp"

#include <algorithm>

#include "kiln/backend/router/router.hpp"

namespace kiln::nn {

void place_on(const Device& router, const ModuleRef& model, std::span<const Placement> placements) {
  struct Part {
    const Selector* which;
    Device device;
    Paths params;
  };
  const std::vector<ParamWithPaths> params = params_with_paths(model);
  std::vector<Part> parts;
  for (const auto& [which, part] : placements)
    parts.push_back({&which, router_part(router, part), selected("place", params, which)});
  walk(model, [&](const PartPath& place, AnyLeaf& leaf) {
    if (leaf.empty()) return;
    const std::string path = place;
    const auto part = std::ranges::find_if(parts, [&](const Part& each) {
      return leaf.is_param() ? each.params.contains(path) : each.which->matches(Candidate{{&place, 1}, leaf.value()});
    });
    require<ArgumentError>(part != parts.end(), "place: '", path,
                           "' is selected by no placement; end the list with {\"*\", 0}");
    leaf.set(to_device(leaf.value(), part->device));
  });
}

}  // namespace kiln::nn
