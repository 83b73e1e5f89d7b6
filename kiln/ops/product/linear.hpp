// The product of the fully connected layer.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

/// x [..., in], weight [out, in], bias [out] or empty -> [..., out]. Throws ShapeError.
Value linear(const Value& x, const Value& weight, const Value& bias = {});

}  // namespace kiln
