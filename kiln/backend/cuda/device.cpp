// The devices "cuda", "cuda:1", ..., each of which exists once per program.
#include <array>
#include <cstdio>

#include "kiln/backend/cuda/driver.hpp"
#include "kiln/backend/cuda/nvrtc.hpp"
#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/ops/devices.hpp"

/// Referenced by name from every program (CMakeLists.txt), so that the linker keeps this file.
extern "C" const char kiln_cuda_devices[];
[[gnu::used]] const char kiln_cuda_devices[] = "cuda";

namespace kiln::cuda {
namespace {

constexpr int kMostDevices = 64;

// Devices are never destroyed: tensors in global variables may outlive them otherwise.
Device device(int index) {
  static std::mutex mutex;
  static std::array<const Device*, kMostDevices> devices{};
  const std::lock_guard lock(mutex);
  require<DeviceError>(index < kMostDevices, "no device 'cuda:", index, "': Kiln counts to ", kMostDevices);
  const Device*& device = devices[static_cast<std::size_t>(index)];
  if (!device) {
    (void)Nvrtc::get();  // there are no kernels without it
    const Ref<Backend> backend = decorated(make_ref<gpu::Gpu>(make_ref<Driver>(index)));
    backend->make_permanent();
    device = new Device(backend);
  }
  return *device;
}

// A list of devices leaves out CUDA if something is missing; the reason is reported if the machine has a GPU.
int count_usable() {
  int count = 0;
  try {
    count = device_count();
  } catch (const Error&) { return 0; }
  try {
    if (count) (void)Nvrtc::get();
  } catch (const Error& error) {
    std::fprintf(stderr, "kiln: the GPU is not used: %s\n", error.what());
    return 0;
  }
  return std::min(count, kMostDevices);
}
int count() {
  static const int counted = count_usable();
  return counted;
}

DeviceKind kind(int index) {
  const DriverApi& api = driver_api();
  DeviceNumber number{};
  int integrated = 0;
  const bool known = api.device_get(&number, index) == kSuccess &&
                     api.device_get_attribute(&integrated, kIntegrated, number) == kSuccess;
  require<DeviceError>(known, "no device 'cuda:", index, "': the CUDA driver does not know it");
  return integrated ? DeviceKind::Integrated : DeviceKind::Discrete;
}

// Runs before constructors of global objects, which may look up devices by name.
[[gnu::constructor(200)]] void register_cuda() {
  register_devices("cuda", 4, &device, &count);
  register_kind("cuda", &kind);
}

}  // namespace
}  // namespace kiln::cuda
