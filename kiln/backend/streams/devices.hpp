// The devices of a maker, "cuda", "cuda:1", ..., each of which exists once per program.
#pragma once
#include <array>
#include <mutex>

#include "kiln/backend/gpu/driver.hpp"
#include "kiln/backend/streams/driver_api.hpp"
#include "kiln/ops/devices.hpp"

namespace kiln::streams {

class DeviceList {
 public:
  static constexpr int kMostDevices = 64;

  struct Maker {
    const char* name;              // "cuda"
    const DriverApi& (*driver)();  // throws DeviceError if there is none
    void (*require_compiler)();    // throws DeviceError if there is none: there are no kernels without it
    Ref<gpu::Driver> (*drive)(int index);
    int integrated;  // the attribute of a device that shares the host's memory
  };
  explicit DeviceList(const Maker& maker) : maker_(maker) {}

  /// Throws DeviceError if something is missing. Devices are never destroyed: tensors in global variables may outlive them
  /// otherwise.
  Device device(int index);
  /// The devices that work: none if something is missing, which is reported if the machine has a GPU.
  int count();
  DeviceKind kind(int index) const;

 private:
  int count_usable() const;

  const Maker maker_;
  std::mutex mutex_;
  std::once_flag counted_;
  int count_ = 0;
  std::array<const Device*, kMostDevices> devices_{};
};

}  // namespace kiln::streams
