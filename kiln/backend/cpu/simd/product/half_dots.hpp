// A few vectors by the lines of a matrix of halves: memory's affair, so halves become floats in registers, and are read once.
#pragma once
#include <cstdint>

namespace kiln::cpu::simd {

/// results[v * lines + i] = the sum over l < k of matrix[i * step + l] * vectors[v * k + l], in float32, for up to four
/// vectors.
template <class H>
using HalfDots = void (*)(const H* matrix, std::int64_t step, std::int64_t lines, std::int64_t k, const float* vectors,
                          std::int64_t count, float* results);

/// For the machine at hand, H being F16 or BF16; null where it does not convert H in registers.
template <class H> HalfDots<H> half_dots();

}  // namespace kiln::cpu::simd
