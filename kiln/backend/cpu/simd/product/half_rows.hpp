// Few rows of a half type times a matrix, on one thread.
#pragma once
#include <cstdint>

#include "kiln/core/dtype.hpp"

namespace kiln::cpu::simd {

inline constexpr std::int64_t kMostHalfRows = 4;

/// left [rows, depth] in float32, one row behind the other; depth is a multiple of half_rows_multiple().
struct HalfRows {
  const float* left;
  std::int64_t rows, depth, columns;
  std::int64_t column;      // elements from a column of the right operand to the next
  std::int64_t result_row;  // from a row of the result to the next
};

/// to[i * result_row + j] = the sum over l < depth of left[i, l] * right[j * column + l]; right is F16 or BF16.
void multiply_half_rows(const HalfRows& x, DType dtype, const void* right, float* to);
std::int64_t half_rows_multiple();

}  // namespace kiln::cpu::simd
