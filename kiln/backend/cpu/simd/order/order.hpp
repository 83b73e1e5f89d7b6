// Memory orders of results.
#pragma once
#include "kiln/backend/cpu/kernel.hpp"

namespace kiln::cpu::simd {

/// Strides that cover `shape` without gaps in the memory order of `x`, which has as many dimensions: channels-last data
/// stay that way.
Dims dense_like(const Shape& shape, const Array& x);

/// Strides of [batch, channels, sizes...] with the channels of one pixel side by side.
Dims channels_last_strides(const Shape& shape);
/// An operand whose elements lie in `strides`: in place if they do, otherwise copied (into `held`, which keeps the copy
/// alive).
Array read_in(const Value& value, const Dims& strides, Value& held);

}  // namespace kiln::cpu::simd
