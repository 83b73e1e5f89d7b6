// First-party devices fuse, unless the environment says KILN_FUSION=0.
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
  return is_set("KILN_FUSION", true) ? Ref<Backend>(make_ref<Fusion>(std::move(inner))) : inner;
}

// Before the objects of programs are made, among which may be devices.
[[gnu::constructor(200)]] void decorate() { decorate_devices(Decoration::Fusion, &fuse); }

}  // namespace
}  // namespace kiln::fusion
