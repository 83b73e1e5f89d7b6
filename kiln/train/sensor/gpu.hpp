// Readings of a GPU from its driver.
#pragma once
#include <optional>

#include "kiln/ops/device.hpp"

namespace kiln::sensor {

struct GpuState {
  std::optional<double> use{};      // percent of recent time in which it was busy
  std::optional<double> degrees{};  // Celsius
};

/// The state of a device "cuda", "cuda:1", ..., from NVIDIA's management library (NVML), which comes with the driver and is
/// opened on first use. Empty for any other device, without the library, and if it gives no readings.
GpuState gpu_state(const Device& device);

}  // namespace kiln::sensor
