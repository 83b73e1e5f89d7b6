// Adapter: a GPU as WebGPU finds it, and what it promises.
#pragma once
#include "kiln/backend/gpu/capabilities.hpp"
#include "kiln/backend/webgpu/provider.hpp"

namespace kiln::webgpu {

struct Adapter {
  AdapterHandle handle = nullptr;
  std::string name;        // "llvmpipe (LLVM 15.0.6, 256 bits), by Vulkan"
  std::uint32_t type = 0;  // kDiscrete, kIntegrated, kProcessor
  Limits limits{};         // all that it has, so that a device is asked for with as much

  /// Capabilities of a device of that adapter.
  gpu::Capabilities capabilities() const;
};

/// Returns the adapter that `provider` thinks fastest. Throws DeviceError where there is none, and where the one that
/// there is computes nothing.
Adapter request_adapter(const Provider& provider);
/// The program's.
const Adapter& adapter();

}  // namespace kiln::webgpu
