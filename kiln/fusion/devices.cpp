// First-party devices fuse, unless the environment says KILN_FUSION=0.
#include <cstdlib>
#include <string_view>

#include "kiln/fusion/fusion.hpp"
#include "kiln/ops/device.hpp"

/// Linked into every program by name (CMakeLists.txt), and this file with it.
extern "C" const char kiln_fusion_devices[];
const char kiln_fusion_devices[] = "fusion";

namespace kiln::fusion {
namespace {

Ref<Backend> fuse(Ref<Backend> inner) {
  const char* choice = std::getenv("KILN_FUSION");
  return choice && std::string_view(choice) == "0" ? inner : Ref<Backend>(make_ref<Fusion>(std::move(inner)));
}

[[maybe_unused]] const bool registered = (decorate_devices(Decoration::Fusion, &fuse), true);

}  // namespace
}  // namespace kiln::fusion
