// The device "libtorch", one per program.
#include "kiln/ops/devices.hpp"
#include "kiln/backend/libtorch/libtorch.hpp"

/// Every program that links the component has this symbol by name (CMakeLists.txt), and with it this file.
extern "C" const char kiln_libtorch_devices[];
[[gnu::used]] const char kiln_libtorch_devices[] = "libtorch";

namespace kiln::libtorch {
namespace {

// The device is never destroyed: tensors in global variables may outlive it otherwise.
Device device() {
  static const Device* const made = [] {
    const Ref<Backend> backend = make_ref<LibTorch>();
    backend->make_permanent();
    return new Device(backend);
  }();
  return *made;
}

// Runs before constructors of global objects, which may look up devices by name. Device::best() never takes it: Kiln's
// own processor is before it.
[[gnu::constructor(200)]] void register_libtorch() {
  register_device("libtorch", -1, &device);
  register_kind("libtorch", [](int) { return DeviceKind::Cpu; });
}

}  // namespace
}  // namespace kiln::libtorch
