// Memory orders of results.
#pragma once
#include "kiln/backend/cpu/kernel.hpp"

namespace kiln::cpu::simd {

/// Returns dense strides for `shape` whose order of dimensions in memory is that of `x`, so that channels-last data
/// stay channels-last. `x` has as many dimensions as `shape`.
Dims dense_like(const Shape& shape, const Array& x);

/// Returns the strides of a channels-last tensor of shape [batch, channels, sizes...]: the channels of a pixel are
/// contiguous.
Dims channels_last_strides(const Shape& shape);
/// Returns an operand in the layout `strides`: in place if it has them, otherwise as a copy, which `held` keeps alive.
Array read_in(const Value& value, const Dims& strides, Value& held);

}  // namespace kiln::cpu::simd
