// The devices of this program.
#pragma once
#include <string>
#include <vector>

#include "kiln/ops/device.hpp"

namespace kiln {

/// Returns the names that Device::parse knows, the fastest first: those of the backends linked into the program for
/// which the machine has a device.
std::vector<std::string> device_names();
/// Returns all of them. Throws what creating one throws.
std::vector<Device> devices();

}  // namespace kiln
