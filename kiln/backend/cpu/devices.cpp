// The devices "cpu" and "reference", one of each to a program.
#include "kiln/backend/cpu/cpu.hpp"

/// Linked into every program by name (CMakeLists.txt), and this file with it; wasm-ld leaves out what is not "used".
extern "C" const char kiln_cpu_devices[];
[[gnu::used]] const char kiln_cpu_devices[] = "cpu, reference";

namespace kiln {
namespace {

// The devices never go: tensors in global variables may, after them. So nobody has to count who uses them.
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

// Before the objects of programs are made, which may ask for devices by name.
[[gnu::constructor(200)]] void register_devices() {
  register_device("cpu", 1, &Device::cpu);
  register_device("reference", 0, &reference_device);
}

}  // namespace

Device Device::cpu() {
  static const Device* const device = permanent(decorated(make_ref<cpu::Cpu>("cpu", linked_families())));
  return *device;
}

}  // namespace kiln
