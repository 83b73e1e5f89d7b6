// Element types into one another.
#pragma once
#include <cstdint>

#include "kiln/core/dtype.hpp"

namespace kiln::cpu::simd {

/// What is computed in single precision.
inline bool is_single_or_half(DType dtype) {
  return dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16;
}

/// `count` contiguous elements. Floats become integers by truncation, halves round to nearest even, anything becomes
/// a boolean by `!= 0`.
void convert(DType from, const void* x, DType to, void* z, std::int64_t count);

}  // namespace kiln::cpu::simd
