// Checks of the Values that typed tensors receive.
#pragma once
#include "kiln/ops/value.hpp"
#include "kiln/tensor/parts/kind.hpp"

namespace kiln {

/// Throws "expected a tensor of rank 2, got float32 [3]", or a similar error for the kind, unless x fits.
void require_tensor(const Value& x, int rank, Kind kind);
/// Returns `dims`, or all of `rank` dimensions where it is empty.
Dims dims_or_all(Dims dims, int rank);

}  // namespace kiln
