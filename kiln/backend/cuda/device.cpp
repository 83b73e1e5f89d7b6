// The devices "cuda", "cuda:1", ...
#include "kiln/backend/cuda/driver.hpp"
#include "kiln/backend/gpu/order/own_stream.hpp"
#include "kiln/backend/gpu/peers.hpp"
#include "kiln/backend/streams/devices.hpp"

/// Referenced by name from every program (CMakeLists.txt), so that the linker keeps this file.
extern "C" const char kiln_cuda_devices[];
[[gnu::used]] const char kiln_cuda_devices[] = "cuda";

namespace kiln::cuda {
namespace {

DeviceList& list() {
  static DeviceList& all =
      *new DeviceList({.name = "cuda",
                       .driver = &driver_api,
                       .require_compiler = [] { (void)nvrtc(); },
                       .drive = [](int index) -> Ref<gpu::Driver> { return make_ref<Driver>(index); },
                       .integrated = kIntegrated});
  return all;
}

// Runs before constructors of global objects, which may look up devices by name.
[[gnu::constructor(200)]] void register_cuda() {
  register_devices("cuda", 5, [](int index) { return list().device(index); }, [] { return list().count(); });
  register_kind("cuda", [](int index) { return list().kind(index); });
  register_mover(&gpu::start_move);
  register_streams(&gpu::open_stream);
}

}  // namespace
}  // namespace kiln::cuda
