// Reading and writing by masks and lists of indices. Those marked `waits` read an operand on the host to know their
// result's shape: the device is synchronised.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

/// [count]: the elements where mask (of x's shape) is true, in row-major order. Waits.
Value mask_select(const Value& x, const Value& mask);

}  // namespace kiln
