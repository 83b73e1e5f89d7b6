// The devices of this program.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/ops/device.hpp"
#include "kiln/ops/value.hpp"

namespace kiln {

enum class DeviceKind : std::uint8_t {
  Cpu,         // a processor
  Integrated,  // a GPU that shares the processor's memory
  Discrete,    // a GPU with memory of its own
  Virtual,     // a GPU that a program or a hypervisor stands in for
  Other,
};
std::string_view name(DeviceKind kind);  // "discrete"

/// Returns the names that Device::parse knows, the fastest first: those of the backends linked into the program for
/// which the machine has a device.
std::vector<std::string> device_names();
/// Returns all of them. Throws what creating one throws.
std::vector<Device> devices();
/// Returns those of one kind, the fastest first; others are not created.
std::vector<Device> devices(DeviceKind kind);
/// What the device of that name is (Device::parse). Throws DeviceError where there is none.
DeviceKind kind_of_device(std::string_view name);

/// Says of what kind the devices are that are registered under `name`, each by its number; Other if nothing is said.
void register_kind(std::string_view name, DeviceKind (*kind)(int index));

/// Registers a kind whose devices are named by what follows: make("cpu,cuda") returns "router:cpu,cuda", make("HOST:PORT")
/// "remote:HOST:PORT". They are in no list, as nobody knows which there are. `make` may be called with any text.
void register_addressed_devices(std::string_view kind, Device (*make)(std::string_view rest));

}  // namespace kiln
