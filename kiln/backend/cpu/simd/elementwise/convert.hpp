// Element types into one another.
#pragma once
#include <cstdint>

#include "kiln/core/dtype.hpp"

namespace kiln::cpu::simd {

/// `count` contiguous elements. Floats become integers by truncation, halves round to nearest even, anything becomes
/// a boolean by `!= 0`.
void convert(DType from, const void* x, DType to, void* z, std::int64_t count);

}  // namespace kiln::cpu::simd
