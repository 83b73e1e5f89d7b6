// Finds extremes in the columns of a matrix: the inner loop of argmax and argmin.
#pragma once
#include <cstdint>

namespace kiln::cpu::simd {

/// Returns whether x replaces the extreme `best`. An equal x does not, so that the first one wins. NaN replaces
/// everything but NaN.
template <bool largest, class T>
constexpr bool beats(T x, T best) {
  return (largest ? x > best : x < best) | ((x != x) & (best == best));
}

/// Finds the first largest (or smallest) element of each of `columns` columns, and its row. The matrix has rows > 0
/// rows that are `stride` elements apart. T is float, double or an integer.
template <class T>
void arg_fold(bool largest, const T* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, T* best,
              std::int32_t* places);

}  // namespace kiln::cpu::simd
