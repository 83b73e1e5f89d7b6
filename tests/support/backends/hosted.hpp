// A remote device whose server is in this program: calls travel, but only through memory.
#pragma once
#include "kiln/ops/device.hpp"

namespace kiln::test {

/// The server lives as long as the program.
Ref<Backend> hosted(const Device& lent);

}  // namespace kiln::test
