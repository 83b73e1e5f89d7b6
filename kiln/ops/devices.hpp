// Which devices this program has.
#pragma once
#include <string>
#include <vector>

#include "kiln/ops/device.hpp"

namespace kiln {

/// The names that Device::parse knows, the fastest first: those of the backends that the program was linked with, as far as
/// the machine has such devices.
std::vector<std::string> device_names();
/// All of them. Throws what making one throws.
std::vector<Device> devices();

}  // namespace kiln
