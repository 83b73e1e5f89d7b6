// What a GPU's driver says of it.
#pragma once
#include <optional>

#include "kiln/ops/device.hpp"

namespace kiln::sensor {

struct GpuState {
  std::optional<double> use{};      // percent of the last moments in which it worked
  std::optional<double> degrees{};  // Celsius
};

/// Of a device "cuda", "cuda:1", ..., from NVIDIA's management library (NVML), which comes with the driver and is opened when it is
/// first asked. Nothing of any other device, where there is no such library, and where it does not say.
GpuState gpu_state(const Device& device);

}  // namespace kiln::sensor
