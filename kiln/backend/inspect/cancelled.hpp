// Estimates the cancellation in an operation's results.
#pragma once
#include "kiln/ops/op.hpp"

namespace kiln {

/// Returns the magnitude of the terms that are added or subtracted for a result, where the result alone does not show
/// it: the gradient of a norm may consist only of the rounding of its terms. 0 for all other operations.
double cancelled(const op::Op& op, Inputs in, std::size_t result);

}  // namespace kiln
