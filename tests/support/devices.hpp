// The devices that tests compute on. Several sources of a test are compiled as one, so each says `using test::cpu`
// instead of defining a constant of that name.
#pragma once
#include "kiln/ops/device.hpp"

namespace kiln::test {

inline const Device cpu = Device::cpu(), autodiff = cpu.autodiff();

/// The device that Device::best() finds, which may be a GPU.
inline Device best() { return Device::best(); }
inline Device best_autodiff() { return best().autodiff(); }

}  // namespace kiln::test
