// Provider: who provides the functions of WebGPU, and how one waits for its answers. A library that is opened at run time,
// and whose kind and version are known by what it exports; or the browser that the module runs in (browser/).
#pragma once
#include <span>
#include <string>

#include "kiln/backend/webgpu/functions.hpp"

namespace kiln::webgpu {

/// Waits a little for answers that have not come in `turn` turns.
void pause_thread(int turn);

struct Provider {
  std::string library;              // its name, for errors
  std::string_view implementation;  // "wgpu-native 29"
  Functions functions{};
  InstanceHandle instance = nullptr;
  /// Lets time pass until process_events() may have something to do.
  void (*pause)(int turn) = &pause_thread;
  /// What helps where there is no adapter.
  std::string_view remedy = "a driver for Vulkan is needed (Debian: mesa-vulkan-drivers)";

  /// Runs the callbacks that are due.
  void process_events(DeviceHandle device) const {
    if (functions.poll && device) functions.poll(device, 0, nullptr);
    else functions.process_events(instance);
  }
};

/// Opens the library of that name; an empty one stands for those that the loader may know. Throws DeviceError where
/// there is none, or none whose implementation is known.
Provider open_provider(const std::string& name);
/// The program's: of the library that KILN_WEBGPU_LIBRARY names.
const Provider& provider();

}  // namespace kiln::webgpu
