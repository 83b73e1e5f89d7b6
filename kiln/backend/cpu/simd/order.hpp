// Memory orders of results.
#pragma once
#include "kiln/backend/cpu/kernel.hpp"

namespace kiln::cpu::simd {

/// Strides that cover `shape` without gaps in the memory order of `x`, which has as many dimensions: channels-last data
/// stay that way.
Dims dense_like(const Shape& shape, const Array& x);

}  // namespace kiln::cpu::simd
