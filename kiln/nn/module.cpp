#include "kiln/nn/module.hpp"

#include <algorithm>

#include "kiln/nn/module/untrained.hpp"

namespace kiln {
namespace nn {

void set_mode(const ModuleRef& model, Mode mode) {
  walk(model, [&](const PartPath&, AnyLeaf& leaf) {
    if (Mode* const found = leaf.get<Mode>()) *found = mode;
  });
}

void set_mode(const ModuleRef& model, Mode mode, std::span<const PartType* const> types) {
  if (std::find(types.begin(), types.end(), &model.type()) != types.end()) return set_mode(model, mode);
  if (!model.type().each_part) return;
  model.type().each_part(model.object(), [&](std::string_view, void* part, const PartType& type) {
    set_mode(ModuleRef(part, type), mode, types);
  });
}

void move_to(const Device& device, const ModuleRef& model) {
  walk(model, [&](const PartPath&, AnyLeaf& leaf) {
    if (!leaf.empty()) leaf.set(to_device(leaf.value(), device));
  });
}

}  // namespace nn

std::int64_t num_params(const nn::ModuleView& model) {
  std::int64_t count = 0;
  nn::walk(model, [&](const nn::PartPath& place, const nn::AnyLeaf& leaf) {
    nn::watch_untrained(place, leaf);
    if (leaf.is_param() && !leaf.empty()) count += leaf.numel();
  });
  return count;
}

std::vector<Device> devices_of(const nn::ModuleView& model) {
  std::vector<Device> devices;
  nn::walk(model, [&](const nn::PartPath&, const nn::AnyLeaf& leaf) {
    if (leaf.empty()) return;
    const Device device = leaf.value().device();
    if (std::find(devices.begin(), devices.end(), device) == devices.end()) devices.push_back(device);
  });
  return devices;
}

}  // namespace kiln
