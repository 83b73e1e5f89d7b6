// Statistics of elements.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

/// The square root of the variance.
Value deviation(const Value& x, const Dims& dims, int correction = 1, bool keep = false);

}  // namespace kiln
