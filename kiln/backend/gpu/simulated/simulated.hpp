// A simulated GPU: kernels run on the host at once, by kernel/interpret.hpp. For tests, and for authors of kernels: an
// error in a kernel is reported with its cause and place.
#pragma once
#include "kiln/backend/gpu/driver.hpp"

namespace kiln::gpu {

/// Memory is filled with bytes 0xff until it is written: NaN for floats, -1 for integers. A kernel may touch nothing
/// but the tensors that it is given. The result of a collective is available after await() and not before; it is an
/// error if its memory is changed or released until then.
Ref<Driver> make_simulated();

}  // namespace kiln::gpu
