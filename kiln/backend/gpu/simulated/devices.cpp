// The device "simulated", which nobody gets who does not ask for it.
#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/backend/gpu/simulated/simulated.hpp"

/// Linked by name into programs that link the library (CMakeLists.txt), and this file with it.
extern "C" const char kiln_simulated_device[];
[[gnu::used]] const char kiln_simulated_device[] = "simulated";

namespace kiln::gpu {
namespace {

// It never goes: tensors in global variables may, after it.
Device simulated_device() {
  static const Device* const device = [] {
    const Ref<Backend> backend = decorated(make_ref<Gpu>(make_simulated()));
    backend->make_permanent();
    return new Device(backend);
  }();
  return *device;
}

[[gnu::constructor(200)]] void register_simulated() { register_device("simulated", -1, &simulated_device); }

}  // namespace
}  // namespace kiln::gpu
