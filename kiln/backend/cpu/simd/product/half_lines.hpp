// A matrix of halves by a few vectors: memory's affair, so halves become floats in registers, and are read once.
#pragma once
#include <cstdint>

namespace kiln::cpu::simd {

/// The most vectors that a matrix is multiplied with at once.
inline constexpr std::int64_t kMostVectors = 4;

template <class H>
struct HalfLines {
  /// results[v * lines + i] = the sum over l < k of matrix[i * step + l] * vectors[v * k + l], in float32.
  void (*dot)(const H* matrix, std::int64_t step, std::int64_t lines, std::int64_t k, const float* vectors,
              std::int64_t count, float* results);
  /// results[v * columns + j] = the sum over l < k of matrix[l * step + j] * vectors[v * k + l], in float32.
  void (*add)(const H* matrix, std::int64_t step, std::int64_t columns, std::int64_t k, const float* vectors,
              std::int64_t count, float* results);
};

/// For the machine at hand, H being F16 or BF16; null where it does not convert H in registers.
template <class H> const HalfLines<H>* half_lines();

}  // namespace kiln::cpu::simd
