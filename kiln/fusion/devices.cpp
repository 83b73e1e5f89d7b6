// First-party devices use Fusion, unless the environment variable KILN_FUSION is 0.
#include "kiln/core/setting/setting.hpp"
#include "kiln/fusion/fusion.hpp"
#include "kiln/ops/device.hpp"

/// Every program links this symbol by name (CMakeLists.txt), and with it this file; wasm-ld drops what is not "used".
extern "C" const char kiln_fusion_devices[];
[[gnu::used]] const char kiln_fusion_devices[] = "fusion";

namespace kiln::fusion {
namespace {

Ref<Backend> fuse(Ref<Backend> inner) {
  (void)is_logged("fusion");  // checks the names in KILN_LOG
  return is_set("KILN_FUSION", true) ? Ref<Backend>(make_ref<Fusion>(std::move(inner))) : inner;
}

// Runs before the constructors of a program's global objects, some of which may be devices.
[[gnu::constructor(200)]] void decorate() { decorate_devices(Decoration::Fusion, &fuse); }

}  // namespace
}  // namespace kiln::fusion
