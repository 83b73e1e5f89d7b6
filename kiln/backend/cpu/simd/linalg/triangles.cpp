#include "kiln/backend/cpu/simd/linalg/triangles.hpp"

#include <algorithm>
#include <cmath>

#include "kiln/backend/cpu/simd/product/product_tiles.hpp"

namespace kiln::cpu::simd {
namespace {

using std::int64_t;

/// About half of n, in whole blocks.
int64_t first_half(int64_t n) { return (n / 2 + kTriangle - 1) / kTriangle * kTriangle; }

template <class T>
T* workspace(std::vector<T>& numbers, int64_t count) {
  if (static_cast<int64_t>(numbers.size()) < count) numbers.resize(static_cast<std::size_t>(count));
  return numbers.data();
}

/// The most rows and columns that are factored in place by plain loops: for so few, preparing vectors takes longer than
/// it saves.
constexpr int64_t kFew = 8;

template <class T>
void factor_few(T* a, int64_t m, int64_t n, int64_t* pivots) {
  for (int64_t j = 0; j < std::min(m, n); ++j) {
    T* const own = a + j * n;
    int64_t pivot = j;
    for (int64_t i = j + 1; i < m; ++i)
      if (std::abs(a[i * n + j]) > std::abs(a[pivot * n + j])) pivot = i;
    pivots[j] = pivot;
    if (pivot != j) std::swap_ranges(own, own + n, a + pivot * n);
    if (own[j] == 0) continue;
    for (int64_t i = j + 1; i < m; ++i) {
      T* const other = a + i * n;
      const T factor = other[j] /= own[j];
      for (int64_t k = j + 1; k < n; ++k) other[k] -= factor * own[k];
    }
  }
}

template <class T>
bool factor_few(T* a, int64_t row, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      const T *const left = a + i * row, *const right = a + j * row;
      T rest = left[j];
      for (int64_t k = 0; k < j; ++k) rest -= left[k] * right[k];
      if (i == j && !(rest > 0)) return false;
      a[i * row + j] = i == j ? std::sqrt(rest) : rest / right[j];
    }
  return true;
}

}  // namespace

template <class T>
void Triangles<T>::subtract(const T* a, int64_t a_row, const T* b, int64_t b_row, T* c, int64_t c_row, int64_t m,
                            int64_t n, int64_t k) {
  if (m == 0 || n == 0 || k == 0) return;
  const ProductTiles<T>& tiles = product_tiles<T>();
  T* const minus = workspace(negated_, m * k);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < k; ++j) minus[i * k + j] = -a[i * a_row + j];
  tiles.multiply({minus, k, 1, k * rows_of_tile(m, tiles.rows)}, {b, b_row, 1}, {c, c_row, c, c_row}, m, n, k, true,
                 workspace(scratch_, tiles.panel * k));
}

template <class T>
void Triangles<T>::divide(const T* t, int64_t t_row, bool upper, bool unit, T* x, int64_t x_row, int64_t n,
                          int64_t columns) {
  if (n <= kTriangle) return matrix_blocks<T>().divide(t, t_row, upper, unit, x, x_row, n, columns);
  const int64_t half = first_half(n), rest = n - half;
  const T* const last = t + half * t_row + half;
  if (upper) {
    divide(last, t_row, upper, unit, x + half * x_row, x_row, rest, columns);
    subtract(t + half, t_row, x + half * x_row, x_row, x, x_row, half, columns, rest);
    divide(t, t_row, upper, unit, x, x_row, half, columns);
  } else {
    divide(t, t_row, upper, unit, x, x_row, half, columns);
    subtract(t + half * t_row, t_row, x, x_row, x + half * x_row, x_row, rest, columns, half);
    divide(last, t_row, upper, unit, x + half * x_row, x_row, rest, columns);
  }
}

template <class T>
void Triangles<T>::factor_lu(T* a, int64_t m, int64_t n, int64_t* pivots) {
  if (std::max(m, n) <= kFew) return factor_few(a, m, n, pivots);
  const ProductTiles<T>& tiles = product_tiles<T>();
  for (int64_t k = 0; k < std::min(m, n); k += kPanelColumns) {
    const int64_t width = std::min(kPanelColumns, std::min(m, n) - k), height = m - k, right = n - k - width;
    T* const corner = a + k * n + k;
    T* const panel =
        workspace(panel_, height * width);  // column-major, as whole columns are searched, scaled and added
    tiles.transpose(corner, n, panel, height, height, width);
    matrix_blocks<T>().factor_lu(panel, height, height, width, pivots + k);
    tiles.transpose(panel, height, corner, n, width, height);
    for (int64_t i = k; i < k + width; ++i) {
      pivots[i] += k;
      if (pivots[i] == i) continue;
      T *const one = a + i * n, *const other = a + pivots[i] * n;
      std::swap_ranges(one, one + k, other);
      std::swap_ranges(one + k + width, one + n, other + k + width);
    }
    if (right == 0) continue;
    T* const beside = corner + width;
    divide(corner, n, false, true, beside, n, width, right);
    subtract(corner + width * n, n, beside, n, beside + width * n, n, height - width, right, width);
  }
}

template <class T>
bool Triangles<T>::factor_cholesky(T* a, int64_t row, int64_t n) {
  if (n <= kFew) return factor_few(a, row, n);
  if (n <= kTriangle) return matrix_blocks<T>().factor_cholesky(a, row, n);
  const int64_t half = first_half(n), rest = n - half;
  if (!factor_cholesky(a, row, half)) return false;
  // l21 = a21 l11^-T is computed as its transpose, l11^-1 a21^T, which is also the right operand of the product below.
  const ProductTiles<T>& tiles = product_tiles<T>();
  T *const below = a + half * row, *const transposed = workspace(transposed_, half * rest);
  tiles.transpose(below, row, transposed, rest, rest, half);
  divide(a, row, false, false, transposed, rest, half, rest);
  tiles.transpose(transposed, rest, below, row, half, rest);
  constexpr int64_t kRows = 48;
  for (int64_t i = 0; i < rest; i += kRows) {
    const int64_t rows = std::min(kRows, rest - i);
    subtract(below + i * row, row, transposed, rest, below + i * row + half, row, rows, i + rows, half);
  }
  return factor_cholesky(below + half, row, rest);
}

template class Triangles<float>;
template class Triangles<double>;

}  // namespace kiln::cpu::simd
