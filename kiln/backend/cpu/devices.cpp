// The devices "cpu" and "reference", one of each per program.
#include "kiln/ops/devices.hpp"
#include "kiln/backend/cpu/cpu.hpp"
#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/ops/decorator.hpp"
#include "kiln/ops/failure.hpp"
#include "kiln/ops/move.hpp"
#include "kiln/ops/read.hpp"

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

/// Another device uploads a value of the processor from where it is, and one that computes on the processor as well
/// keeps it there: no value changes, and no result takes the memory of one that has another owner.
Ref<PendingMove> lend(const Value& value, const Device& to) {
  if (!dynamic_cast<const cpu::Cpu*>(&undecorated(value.device()))) return nullptr;
  run_pending({&value, 1});
  throw_if_failed(value);
  const cpu::Array array = cpu::read(value);
  const auto& block = static_cast<const cpu::Memory&>(*value.node()->storage);
  const std::size_t bytes = static_cast<std::size_t>(array.numel()) * size_of(array.dtype);
  // A small part of a block is copied, and does not keep the block.
  if (!array.contiguous() || bytes == 0 || block.size() > 2 * bytes) return nullptr;
  const auto owner = std::make_shared<const Ref<Storage>>(value.node()->storage);
  TensorData data = TensorData::lent(array.shape, array.dtype, {array.data, bytes}, owner);
  return moved(Value(to.backend().upload(std::move(data), to)));
}

// Runs before the constructors of a program's global objects, which may ask for devices by name.
[[gnu::constructor(200)]] void register_devices() {
  register_device("cpu", 1, &Device::cpu);
  register_device("reference", 0, &reference_device);
  for (const char* const name : {"cpu", "reference"}) register_kind(name, [](int) { return DeviceKind::Cpu; });
  register_mover(&lend);
}

}  // namespace

Device Device::cpu() {
  static const Device* const device = permanent(decorated(make_ref<cpu::Cpu>("cpu", linked_families())));
  return *device;
}

}  // namespace kiln
