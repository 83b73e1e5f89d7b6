// Orders in which tensors are stored.
//
// Channels-last order is [batch, channels, sizes...] with the channels of one pixel side by side. Convolutions store
// their results in this order, and elementwise ops keep it.
#pragma once
#include "kiln/backend/cpu/kernel.hpp"

namespace kiln::cpu {

/// Returns the strides of a channels-last tensor [batch, channels, sizes...].
Dims channels_last_strides(const Shape& shape);

/// Returns dense strides for `shape` whose order of dimensions in memory is that of `x`, so that channels-last data
/// stay channels-last. `x` has as many dimensions as `shape`.
Dims dense_like(const Shape& shape, const Array& x);

/// Returns an operand in the order of `strides`: in place if it is stored so, otherwise as a copy, which `held` keeps
/// alive.
Array read_in(const Value& value, const Dims& strides, Value& held);

}  // namespace kiln::cpu
