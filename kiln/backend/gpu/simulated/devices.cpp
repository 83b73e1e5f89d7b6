// The device "simulated", which is only used when a program asks for it by name.
#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/backend/gpu/simulated/simulated.hpp"

/// Referenced by name from programs that link the library (CMakeLists.txt), so that the linker keeps this file.
extern "C" const char kiln_simulated_device[];
[[gnu::used]] const char kiln_simulated_device[] = "simulated";

namespace kiln::gpu {
namespace {

// Never destroyed: tensors in global variables may outlive it otherwise.
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
