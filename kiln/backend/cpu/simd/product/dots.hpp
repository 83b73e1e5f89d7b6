// Products whose sums run along the lines of both operands: each sum is computed in the lanes of a vector.
#pragma once
#include "kiln/backend/cpu/simd/product/few_rows.hpp"

namespace kiln::cpu::simd {

/// Computes c[i * c_row + j * c_column] = the sum over l < k of a[i * a_row + l] * b[j * b_row + l], for i < m and j <
/// n, for few rows of a. `near`: all of b is in some cache, when it is used repeatedly.
template <class T>
using Dots = void (*)(const SumOf<T>* a, std::int64_t a_row, const T* b, std::int64_t b_row, SumOf<T>* c,
                      std::int64_t c_row, std::int64_t c_column, std::int64_t m, std::int64_t n, std::int64_t k,
                      bool near);

/// The kernels for this processor. T is float, double, or int16, int32 or int64, whose sums wrap around; or BF16 or
/// F16, null if the processor does not convert them in registers.
template <class T> Dots<T> dots();

}  // namespace kiln::cpu::simd
