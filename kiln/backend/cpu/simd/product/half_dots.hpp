// A few vectors times the lines of a matrix of halves. Memory bandwidth limits this, so halves are converted to floats
// in registers, and read once.
#pragma once
#include <cstdint>

namespace kiln::cpu::simd {

/// Computes results[v * lines + i] = the sum over l < k of matrix[i * step + l] * vectors[v * k + l], in float32, for
/// up to four vectors.
template <class H>
using HalfDots = void (*)(const H* matrix, std::int64_t step, std::int64_t lines, std::int64_t k, const float* vectors,
                          std::int64_t count, float* results);

/// The kernel for this processor. H is F16 or BF16; null if it does not convert H in registers.
template <class H> HalfDots<H> half_dots();

}  // namespace kiln::cpu::simd
