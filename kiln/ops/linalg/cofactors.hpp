// The gradient of a determinant, as an expression that has gradients itself.
#pragma once
#include "kiln/ops/value.hpp"

namespace kiln::op {

/// The matrix of cofactors of a [..., n, n], whose determinant is `det` [...]: right for singular matrices too, as are its
/// derivatives up to the second, and of any order where a is regular, or up to 16 dimensions of its space go to 0. Each
/// matrix of a batch by itself. Waits for the device where n > 3, to ask how near to singular the matrices are.
Value cofactors(const Value& a, const Value& det);

}  // namespace kiln::op
