// The devices "cpu" and "reference", one of each per program.
#include "kiln/ops/devices.hpp"
#include "kiln/backend/cpu/cpu.hpp"
#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/lending.hpp"

/// Every program links this symbol by name (CMakeLists.txt), and with it this file; wasm-ld drops what is not "used".
extern "C" const char kiln_cpu_devices[];
[[gnu::used]] const char kiln_cpu_devices[] = "cpu, reference";

namespace kiln {
namespace {

// The devices are never destroyed: tensors in global variables may outlive all else. So their users are not counted.
const Device* permanent(Ref<Backend> backend) {
  backend->make_permanent();
  return new Device(std::move(backend));
}

Device reference_device() {
  static const Device* const device = permanent(make_ref<cpu::Cpu>("reference", std::vector<cpu::FastKernels>{}));
  return *device;
}

std::vector<cpu::FastKernels> linked_families() {
  std::vector<cpu::FastKernels> families;
  for (const auto family : {&cpu::simd_kernels, &cpu::matmul_kernels, &cpu::conv_kernels, &cpu::integer_kernels,
                            &cpu::amx_kernels, &cpu::lapack_kernels})
    if (family) families.push_back(family());
  return families;
}

// Runs before the constructors of a program's global objects, which may ask for devices by name.
[[gnu::constructor(200)]] void register_devices() {
  register_device("cpu", 1, &Device::cpu);
  register_device("reference", 0, &reference_device);
  for (const char* const name : {"cpu", "reference"}) register_kind(name, [](int) { return DeviceKind::Cpu; });
  cpu::register_lending();
}

}  // namespace

Device Device::cpu() {
  static const Device* const device = permanent(decorated(make_ref<cpu::Cpu>("cpu", linked_families())));
  return *device;
}

}  // namespace kiln
