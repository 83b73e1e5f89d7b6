// Plain loops that the compiler vectorises, once per target.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/backend/cpu/simd/linalg/triangles.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/linalg/blocks.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/vector.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace {

using std::int64_t;

constexpr int64_t kColumns = 32;  // the sums of so many columns stay in registers

/// divide() for `some` columns of x. `some` is a compile-time constant if there are enough columns, so that the loops
/// over them have a fixed length.
template <class T, class Count>
HWY_INLINE void divide_columns(const T* HWY_RESTRICT t, int64_t t_row, bool upper, bool unit, T* x, int64_t x_row,
                               int64_t n, Count some) {
  T sums[kColumns];
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = upper ? n - 1 - step : step;
    T* const row = x + i * x_row;
    for (int64_t c = 0; c < some; ++c) sums[c] = row[c];
    for (int64_t j = upper ? i + 1 : 0; j < (upper ? n : i); ++j) {
      const T factor = t[i * t_row + j];
      const T* const other = x + j * x_row;
      for (int64_t c = 0; c < some; ++c) sums[c] -= factor * other[c];
    }
    const T diagonal = unit ? T{1} : t[i * t_row + i];
    for (int64_t c = 0; c < some; ++c) row[c] = sums[c] / diagonal;
  }
}

template <class T>
void divide(const T* t, int64_t t_row, bool upper, bool unit, T* x, int64_t x_row, int64_t n, int64_t columns) {
  int64_t c = 0;
  for (; c + kColumns <= columns; c += kColumns)
    divide_columns(t, t_row, upper, unit, x + c, x_row, n, std::integral_constant<int64_t, kColumns>());
  for (; c + 4 <= columns; c += 4)
    divide_columns(t, t_row, upper, unit, x + c, x_row, n, std::integral_constant<int64_t, 4>());
  if (c < columns) divide_columns(t, t_row, upper, unit, x + c, x_row, n, columns - c);
}

template <class T>
void factor_lu(T* a, int64_t column, int64_t m, int64_t n, int64_t* pivots) {
  for (int64_t j = 0; j < std::min(m, n); ++j) {
    T* const own = a + j * column;
    int64_t pivot = j;
    for (int64_t i = j + 1; i < m; ++i)
      if (std::abs(own[i]) > std::abs(own[pivot])) pivot = i;
    pivots[j] = pivot;
    if (pivot != j)
      for (int64_t k = 0; k < n; ++k) std::swap(a[k * column + j], a[k * column + pivot]);
    if (own[j] == 0) continue;
    const T diagonal = own[j];
    for (int64_t i = j + 1; i < m; ++i) own[i] /= diagonal;
    for (int64_t k = j + 1; k < n; ++k) {
      T* HWY_RESTRICT const other = a + k * column;
      const T factor = other[j];
      for (int64_t i = j + 1; i < m; ++i) other[i] -= factor * own[i];
    }
  }
}

template <class T>
HWY_INLINE T sum_of_products(const T* x, const T* y, int64_t count) {
  constexpr int64_t kWidth = static_cast<int64_t>(kLanes<T>);
  Vector<T> sums[4] = {0, 0, 0, 0};
  int64_t i = 0;
  for (; i + 4 * kWidth <= count; i += 4 * kWidth)
    for (int64_t k = 0; k < 4; ++k)
      sums[k] = fma(Vector<T>::load(x + i + k * kWidth), Vector<T>::load(y + i + k * kWidth), sums[k]);
  for (; i + kWidth <= count; i += kWidth) sums[0] = fma(Vector<T>::load(x + i), Vector<T>::load(y + i), sums[0]);
  T lanes[kLanes<T>], sum = 0;
  store(sums[0] + sums[1] + (sums[2] + sums[3]), lanes);
  for (const T lane : lanes) sum += lane;
  for (; i < count; ++i) sum += x[i] * y[i];
  return sum;
}

template <class T>
void factor_qr(T* a, int64_t column, int64_t m, int64_t n, T* scales) {
  for (int64_t j = 0; j < std::min(m, n); ++j) {
    T* const own = a + j * column + j;
    const int64_t count = m - j;
    T largest = 0;
    for (int64_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(own[i]));
    scales[j] = 0;
    if (largest == 0) continue;
    // Scale the column by a power of two, so that squares neither overflow nor underflow.
    int exponent = 0;
    std::frexp(std::clamp(largest, std::numeric_limits<T>::min(), 1 / std::numeric_limits<T>::min()), &exponent);
    const T unit = std::ldexp(T{1}, exponent - 1), each = 1 / unit;
    for (int64_t i = 0; i < count; ++i) own[i] *= each;
    const T below = sum_of_products(own + 1, own + 1, count - 1);
    if (below == 0) {
      own[0] *= unit;
      continue;
    }
    const T first = own[0], end = -std::copysign(std::sqrt(first * first + below), first), divisor = first - end;
    scales[j] = (end - first) / end;
    for (int64_t i = 1; i < count; ++i) own[i] /= divisor;
    own[0] = end * unit;
    for (int64_t k = j + 1; k < n; ++k) {
      T* HWY_RESTRICT const other = a + k * column + j;
      const T share = scales[j] * (other[0] + sum_of_products(own + 1, other + 1, count - 1));
      other[0] -= share;
      for (int64_t i = 1; i < count; ++i) other[i] -= share * own[i];
    }
  }
}

/// Subtracts the contribution of each column from all later columns at once. The loops run over whole rows of a copy,
/// which are vectors; the copy has zeros above the triangle.
template <class T>
bool factor_cholesky(T* a, int64_t row, int64_t n) {
  alignas(64) T rows[kTriangle][kTriangle] = {};
  for (int64_t i = 0; i < n; ++i) std::copy_n(a + i * row, i + 1, rows[i]);
  for (int64_t j = 0; j < n; ++j) {
    if (!(rows[j][j] > 0)) return false;
    rows[j][j] = std::sqrt(rows[j][j]);
    alignas(64) T column[kTriangle] = {};
    for (int64_t i = j + 1; i < n; ++i) column[i] = rows[i][j] /= rows[j][j];
    for (int64_t i = j + 1; i < n; ++i)
      for (int64_t k = 0; k < kTriangle; ++k) rows[i][k] -= column[i] * column[k];
  }
  for (int64_t i = 0; i < n; ++i) std::copy_n(rows[i], i + 1, a + i * row);
  return true;
}

template <class T>
constexpr MatrixBlocks<T> kBlocks{divide<T>, factor_lu<T>, factor_qr<T>, factor_cholesky<T>};

}  // namespace

const MatrixBlocks<float>& blocks_float() { return kBlocks<float>; }
const MatrixBlocks<double>& blocks_double() { return kBlocks<double>; }

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(blocks_float);
HWY_EXPORT(blocks_double);
template <> const MatrixBlocks<float>& matrix_blocks() { return HWY_DYNAMIC_DISPATCH(blocks_float)(); }
template <> const MatrixBlocks<double>& matrix_blocks() { return HWY_DYNAMIC_DISPATCH(blocks_double)(); }

}  // namespace kiln::cpu::simd
#endif
