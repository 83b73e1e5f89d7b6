// For who keeps one value under two records.
#pragma once
#include "kiln/ops/value.hpp"

namespace kiln {

/// The memory of x as another value, with a record of its own. The device is x's, or its form with gradients or without.
Value another_view(const Value& x, const Device& device);

}  // namespace kiln
