// What cancels out in an operation's results.
#pragma once
#include "kiln/ops/op.hpp"

namespace kiln {

/// The magnitude of what is subtracted from each other, or added up, on the way to a result, where the result alone does
/// not tell: the gradient of a norm may be nothing but the rounding of its terms. 0 for all other operations.
double cancelled(const op::Op& op, Inputs in, std::size_t result);

}  // namespace kiln
