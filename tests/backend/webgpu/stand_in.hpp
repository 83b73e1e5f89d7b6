// A stand-in for WebGPU whose buffers are the host's memory and whose kernels do nothing; tests say what goes wrong.
#pragma once
#include <cstdint>
#include <string>

#include "kiln/backend/webgpu/driver.hpp"

namespace kiln::webgpu::test {

struct StandIn {
  // ---- what the machine has ----
  bool has_adapter = true;
  std::uint32_t backend = 6;  // Vulkan
  std::uint32_t storage_buffers = 8;
  std::uint64_t storage_bytes = std::uint64_t{1} << 27;
  std::uint32_t shared_bytes = 16 << 10;
  std::uint64_t room = std::uint64_t{1} << 30;  // bytes of buffers
  // ---- what goes wrong ----
  bool gives_device = true;
  std::string compile_error;    // of every pipeline
  int submits_until_loss = -1;  // the device is lost at that one; -1: never
  std::string submit_error;     // of the next one, which no scope catches
  bool answers = true;          // whether copies to the host arrive
  // ---- what was seen ----
  std::uint64_t used = 0;
  int dispatches = 0, submits = 0, open_scopes = 0, objects = 0;
};

/// The only one; set before a device is made.
StandIn& stand_in();
/// Loses the device, from any thread.
void lose_device();
/// Its functions, in the initial state.
const Provider& stand_in_provider();

}  // namespace kiln::webgpu::test
