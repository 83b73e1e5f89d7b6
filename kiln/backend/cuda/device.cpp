// The devices "cuda", "cuda:1", ..., one of each to a program.
#include <array>
#include <cstdio>

#include "kiln/backend/cuda/driver.hpp"
#include "kiln/backend/cuda/nvrtc.hpp"
#include "kiln/backend/gpu/gpu.hpp"

/// Linked into every program by name (CMakeLists.txt), and this file with it.
extern "C" const char kiln_cuda_devices[];
[[gnu::used]] const char kiln_cuda_devices[] = "cuda";

namespace kiln::cuda {
namespace {

constexpr int kMostDevices = 64;

// The devices never go: tensors in global variables may, after them.
Device device(int index) {
  static std::mutex mutex;
  static std::array<const Device*, kMostDevices> devices{};
  const std::lock_guard lock(mutex);
  require<DeviceError>(index < kMostDevices, "no device 'cuda:", index, "': Kiln counts to ", kMostDevices);
  const Device*& device = devices[static_cast<std::size_t>(index)];
  if (!device) {
    (void)Nvrtc::get();  // without which there are no kernels
    const Ref<Backend> backend = decorated(make_ref<gpu::Gpu>(make_ref<Driver>(index)));
    backend->make_permanent();
    device = new Device(backend);
  }
  return *device;
}

// Whoever asks which devices there are is told of none where something is missing, and whoever has a GPU why.
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

// Before the objects of programs are made, which may ask for devices by name.
[[gnu::constructor(200)]] void register_cuda() { register_devices("cuda", 2, &device, &count); }

}  // namespace
}  // namespace kiln::cuda
