// The devices "rocm", "rocm:1", ...
#include "kiln/backend/rocm/driver.hpp"
#include "kiln/backend/streams/devices.hpp"

/// Referenced by name from every program (CMakeLists.txt), so that the linker keeps this file.
extern "C" const char kiln_rocm_devices[];
[[gnu::used]] const char kiln_rocm_devices[] = "rocm";

namespace kiln::rocm {
namespace {

DeviceList& list() {
  static DeviceList& all =
      *new DeviceList({.name = "rocm",
                       .driver = &driver_api,
                       .require_compiler = [] { (void)hiprtc(); },
                       .drive = [](int index) -> Ref<gpu::Driver> { return make_ref<Driver>(index); },
                       .integrated = kIntegrated});
  return all;
}

// Runs before constructors of global objects, which may look up devices by name.
[[gnu::constructor(200)]] void register_rocm() {
  register_devices("rocm", 4, [](int index) { return list().device(index); }, [] { return list().count(); });
  register_kind("rocm", [](int index) { return list().kind(index); });
}

}  // namespace
}  // namespace kiln::rocm
