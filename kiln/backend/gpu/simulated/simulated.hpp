// A GPU that is none: kernels run on the host by kernel/interpret.hpp, at once. For tests, and for people who write kernels:
// what is wrong with one is an error that says what and where.
#pragma once
#include "kiln/backend/gpu/driver.hpp"

namespace kiln::gpu {

/// Its memory is full of bytes 0xff where nobody has written: of floats NaN, of integers -1. A kernel may touch nothing
/// but the tensors that it is given, from end to end. Where ranks meet, the result is there once await() says so and no
/// sooner; that memory which they meet for was changed or given back until then is an error.
Ref<Driver> make_simulated();

}  // namespace kiln::gpu
