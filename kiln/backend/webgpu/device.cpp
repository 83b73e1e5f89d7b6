// The device "webgpu": the GPU that WebGPU thinks fastest.
#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/backend/webgpu/driver.hpp"
#include "kiln/ops/devices.hpp"

/// Referenced by name from every program (CMakeLists.txt), so that the linker keeps this file.
extern "C" const char kiln_webgpu_devices[];
[[gnu::used]] const char kiln_webgpu_devices[] = "webgpu";

namespace kiln::webgpu {
namespace {

// Never destroyed: tensors in global variables may outlive it otherwise.
Device device() {
  static const Device* const made = [] {
    const Ref<Backend> backend = decorated(make_ref<gpu::Gpu>(make_ref<Driver>(provider(), adapter())));
    backend->make_permanent();
    return new Device(backend);
  }();
  return *made;
}

Device device_of(int index) {
  require<DeviceError>(index == 0, "no device 'webgpu:", index, "': WebGPU offers one GPU, 'webgpu'");
  return device();
}

// A list of devices leaves it out if something is missing, which asking for the device reports.
int count() {
  static const int counted = [] {
    try {
      (void)adapter();
      return 1;
    } catch (const Error&) { return 0; }
  }();
  return counted;
}

DeviceKind kind(int) {
  switch (adapter().type) {
    case kDiscrete: return DeviceKind::Discrete;
    case kIntegrated: return DeviceKind::Integrated;
    case kProcessor: return DeviceKind::Virtual;
    default: return DeviceKind::Other;
  }
}

// Runs before constructors of global objects, which may look up devices by name.
[[gnu::constructor(200)]] void register_webgpu() {
  register_devices("webgpu", 2, &device_of, &count);
  register_kind("webgpu", &kind);
}

}  // namespace
}  // namespace kiln::webgpu
