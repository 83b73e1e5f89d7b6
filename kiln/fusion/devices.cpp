// First-party devices fuse, unless the environment says KILN_FUSION=0.
#include <string_view>

#include "kiln/core/error/shown.hpp"
#include "kiln/core/setting/setting.hpp"
#include "kiln/fusion/fusion.hpp"
#include "kiln/ops/device.hpp"

/// Linked into every program by name (CMakeLists.txt), and this file with it; wasm-ld leaves out what is not "used".
extern "C" const char kiln_fusion_devices[];
[[gnu::used]] const char kiln_fusion_devices[] = "fusion";

namespace kiln::fusion {
namespace {

Ref<Backend> fuse(Ref<Backend> inner) {
  (void)is_logged("fusion");  // KILN_LOG may name what there is not
  const char* const text = setting("KILN_FUSION");
  const std::string_view said = text ? text : "1";
  require<ArgumentError>(said == "0" || said == "1", "KILN_FUSION must be 0 or 1, got '", shown(said), "'");
  return said == "0" ? inner : Ref<Backend>(make_ref<Fusion>(std::move(inner)));
}

// Before the objects of programs are made, among which may be devices.
[[gnu::constructor(200)]] void decorate() { decorate_devices(Decoration::Fusion, &fuse); }

}  // namespace
}  // namespace kiln::fusion
