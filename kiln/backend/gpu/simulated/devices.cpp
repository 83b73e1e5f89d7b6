// The devices "simulated", "simulated:webgpu" and others, which are only used when a program asks for them by name.
#include "kiln/ops/devices.hpp"
#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/backend/gpu/simulated/simulated.hpp"

/// Referenced by name from programs that link the library (CMakeLists.txt), so that the linker keeps this file.
extern "C" const char kiln_simulated_device[];
[[gnu::used]] const char kiln_simulated_device[] = "simulated";

namespace kiln::gpu {
namespace {

/// The device of a row of profiles(). Never destroyed: tensors in global variables may outlive it otherwise.
template <std::size_t Row>
Device device() {
  static const Device* const made = [] {
    const Ref<Backend> backend = decorated(make_ref<Gpu>(make_simulated(profiles()[Row])));
    backend->make_permanent();
    return new Device(backend);
  }();
  return *made;
}

constexpr std::size_t kDevices = 10;
template <std::size_t... Row>
void register_rows(std::index_sequence<Row...>) {
  KILN_CHECK(profiles().size() == sizeof...(Row));
  (register_device(profiles()[Row].name, -1, &device<Row>), ...);
  for (const Profile& profile : profiles()) register_kind(profile.name, [](int) { return DeviceKind::Virtual; });
}

[[gnu::constructor(200)]] void register_simulated() { register_rows(std::make_index_sequence<kDevices>{}); }

}  // namespace
}  // namespace kiln::gpu
