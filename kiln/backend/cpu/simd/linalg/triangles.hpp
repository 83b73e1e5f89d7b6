// Factors of one row-major matrix, and divisions by triangular matrices, on one thread. Plain loops (blocks.cpp)
// compute small blocks on the diagonal, and the products of product_tiles.hpp compute the rest. So small matrices have
// no overhead, and large ones are as fast as matrix products.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "kiln/backend/cpu/matrix_batch.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::simd {

/// The most rows of a triangle, and the most columns of a panel, that plain loops compute.
inline constexpr std::int64_t kTriangle = 16, kPanelColumns = 32;

template <class T>
struct MatrixBlocks {
  /// x [n, columns] := t^-1 x for the triangular matrix t [n, n], n at most kTriangle. Rows are t_row and x_row apart.
  /// If `unit`, the diagonal is 1 and is not read.
  void (*divide)(const T* t, std::int64_t t_row, bool upper, bool unit, T* x, std::int64_t x_row, std::int64_t n,
                 std::int64_t columns);
  /// Factors a [m, n], n at most kPanelColumns, by LU with partial pivoting. The columns are `column` elements apart.
  /// Row i is swapped with row pivots[i], for i from 0 to min(m, n) - 1.
  void (*factor_lu)(T* a, std::int64_t column, std::int64_t m, std::int64_t n, std::int64_t* pivots);
  /// Makes a [m, n] upper triangular by reflections 1 - scale v vᵀ, one for each column. The columns are `column`
  /// elements apart. v begins on the diagonal with a 1, which is not stored; the rest of v is stored in the place of
  /// the zeros below.
  void (*factor_qr)(T* a, std::int64_t column, std::int64_t m, std::int64_t n, T* scales);
  /// Triangles::factor_cholesky() for n of at most kTriangle.
  bool (*factor_cholesky)(T* a, std::int64_t row, std::int64_t n);
};
/// Returns the functions for the instruction set of this machine. T is float or double.
template <class T> const MatrixBlocks<T>& matrix_blocks();

/// The algorithms and the workspace of one thread. Matrices are row-major; the `_row` arguments are distances of rows
/// in numbers.
template <class T>
class Triangles {
 public:
  /// x [n, columns] := t^-1 x for the triangular matrix t [n, n].
  void divide(const T* t, std::int64_t t_row, bool upper, bool unit, T* x, std::int64_t x_row, std::int64_t n,
              std::int64_t columns);
  /// a [m, n] := its factors l and u, with partial pivoting: row i is swapped with row pivots[i].
  void factor_lu(T* a, std::int64_t m, std::int64_t n, std::int64_t* pivots);
  /// The lower triangle of a [n, n] := its Cholesky factor; elements above the diagonal are not read. Returns false if
  /// a is not positive definite.
  bool factor_cholesky(T* a, std::int64_t row, std::int64_t n);

 private:
  /// c [m, n] -= a [m, k] b [k, n]
  void subtract(const T* a, std::int64_t a_row, const T* b, std::int64_t b_row, T* c, std::int64_t c_row,
                std::int64_t m, std::int64_t n, std::int64_t k);

  std::vector<T> negated_, panel_, scratch_, transposed_;
};

extern template class Triangles<float>;
extern template class Triangles<double>;

/// Calls body(begin, end, triangles) for parts of a batch of matrices, on several threads. Each matrix takes about
/// `operations` operations.
template <class T, class Body>
void each_part(const Shape& shape, double operations, Body&& body) {
  parallel_for(kiln::numel(op::batch_of(shape)), matrices_per_chunk(operations),
               [&](std::int64_t begin, std::int64_t end) {
                 Triangles<T> triangles;
                 body(begin, end, triangles);
               });
}

}  // namespace kiln::cpu::simd
