// A simulated GPU: kernels run on the host at once, by kernel/interpret.hpp. For tests, and for authors of kernels: an
// error in a kernel is reported with its cause and place.
#pragma once
#include "kiln/backend/gpu/driver.hpp"
#include "kiln/backend/gpu/simulated/profiles.hpp"

namespace kiln::gpu {

/// Memory is filled with bytes 0xff until it is written: NaN for floats, -1 for integers. A kernel may touch nothing
/// but the tensors that it is given, and the device runs no kernel and no launch that its profile does not allow. The
/// result of a collective is available after wait_for_collective() and not before; it is an error if its memory is
/// changed or released until then.
Ref<Driver> make_simulated(const Profile& profile = profiles()[0]);

}  // namespace kiln::gpu
