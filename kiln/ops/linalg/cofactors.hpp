// The gradient of a determinant, as an expression that itself has gradients.
#pragma once
#include "kiln/ops/value.hpp"

namespace kiln::op {

/// The matrix of cofactors of a [..., n, n], whose determinant is `det` [...]. It is right for singular matrices too,
/// with derivatives up to the second order, and of any order where a is regular or at most 16 of its singular values
/// are zero. Each matrix of a batch is treated separately. Waits for the device where n > 3, to learn how near to
/// singular the matrices are.
Value cofactors(const Value& a, const Value& det);

}  // namespace kiln::op
