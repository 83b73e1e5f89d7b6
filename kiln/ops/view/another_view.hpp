// For code that needs one value under two records.
#pragma once
#include "kiln/ops/value.hpp"

namespace kiln {

/// Returns the memory of x as another value, with a record of its own. The device is x's, with or without autodiff.
Value another_view(const Value& x, const Device& device);

}  // namespace kiln
