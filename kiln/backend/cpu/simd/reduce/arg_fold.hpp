// Looking for extremes in the rows of a matrix: the inner loop of argmax and argmin.
#pragma once
#include <cstdint>

namespace kiln::cpu::simd {

/// Is x a better extreme than `best`? Equal ones are not: the first wins. NaN beats everything but NaN.
template <bool largest, class T>
constexpr bool beats(T x, T best) {
  return (largest ? x > best : x < best) | ((x != x) & (best == best));
}

/// Of each of `columns` columns of rows > 0 elements, `stride` apart: the first largest (or smallest) and its row.
/// T is float, double or an integer.
template <class T>
void arg_fold(bool largest, const T* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, T* best,
              std::int32_t* places);

}  // namespace kiln::cpu::simd
