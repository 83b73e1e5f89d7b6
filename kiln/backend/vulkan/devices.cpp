// The devices "vulkan", "vulkan:1", ..., each of which exists once per program.
#include "kiln/ops/devices.hpp"

#include <array>
#include <mutex>

#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/backend/vulkan/driver.hpp"

/// Referenced by name from every program (CMakeLists.txt), so that the linker keeps this file.
extern "C" const char kiln_vulkan_devices[];
[[gnu::used]] const char kiln_vulkan_devices[] = "vulkan";

namespace kiln::vulkan {
namespace {

constexpr int kMostDevices = 64;

// Devices are never destroyed: tensors in global variables may outlive them otherwise.
Device device(int index) {
  static std::mutex mutex;
  static std::array<const Device*, kMostDevices> devices{};
  const std::lock_guard lock(mutex);
  (void)Instance::get().device(index);
  require<DeviceError>(index < kMostDevices, "no device 'vulkan:", index, "': Kiln counts to ", kMostDevices);
  const Device*& device = devices[static_cast<std::size_t>(index)];
  if (!device) {
    const Ref<Backend> backend = decorated(make_ref<gpu::Gpu>(make_ref<Driver>(index)));
    backend->make_permanent();
    device = new Device(backend);
  }
  return *device;
}

// A list of devices leaves out Vulkan's where something is missing.
int count() {
  static const int counted = [] {
    try {
      return std::min(static_cast<int>(Instance::get().devices().size()), kMostDevices);
    } catch (const Error&) { return 0; }
  }();
  return counted;
}

DeviceKind kind(int index) { return Instance::get().device(index).kind(); }

// Runs before constructors of global objects, which may look up devices by name.
[[gnu::constructor(200)]] void register_vulkan() {
  register_devices("vulkan", 3, &device, &count);
  register_kind("vulkan", &kind);
}

}  // namespace
}  // namespace kiln::vulkan
