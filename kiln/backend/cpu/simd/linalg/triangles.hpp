// Factors of one row-major matrix, and triangles divided by, on one thread: small blocks in plain loops (blocks.cpp), and what
// lies between them as products on the tiles of product_tiles.hpp. A batch of small matrices spends no time on being
// asked for, and large ones are as fast as products are.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "kiln/backend/cpu/matrix_batch.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/linalg/matrix.hpp"

namespace kiln::cpu::simd {

/// The most rows of a block that plain loops take.
inline constexpr std::int64_t kTriangle = 16, kPanelColumns = 32;

template <class T>
struct MatrixBlocks {
  /// x [n, columns] := t^-1 x for the triangle t [n, n], n at most kTriangle. Rows are t_row and x_row apart; a unit
  /// diagonal is not read.
  void (*divide)(const T* t, std::int64_t t_row, bool upper, bool unit, T* x, std::int64_t x_row, std::int64_t n,
                 std::int64_t columns);
  /// Factors a [m, n], n at most kPanelColumns, whose columns lie `column` apart, by partial pivoting: row i changed places
  /// with row pivots[i], from 0 to the smaller of m and n.
  void (*factor_lu)(T* a, std::int64_t column, std::int64_t m, std::int64_t n, std::int64_t* pivots);
  /// Makes a [m, n], whose columns lie `column` apart, upper triangular by reflections 1 - scale v vᵀ, one a column. v begins
  /// on the diagonal with a 1, behind which it lies in the place of the zeros.
  void (*factor_qr)(T* a, std::int64_t column, std::int64_t m, std::int64_t n, T* scales);
  /// As Triangles, n at most kTriangle.
  bool (*factor_cholesky)(T* a, std::int64_t row, std::int64_t n);
};
/// For the machine at hand; T is float or double.
template <class T> const MatrixBlocks<T>& matrix_blocks();

/// What a thread works with. Matrices are row-major, their rows so many numbers apart.
template <class T>
class Triangles {
 public:
  /// x [n, columns] := t^-1 x for the triangle t [n, n].
  void divide(const T* t, std::int64_t t_row, bool upper, bool unit, T* x, std::int64_t x_row, std::int64_t n,
              std::int64_t columns);
  /// a [m, n] := its factors l and u, by partial pivoting: row i changed places with row pivots[i].
  void factor_lu(T* a, std::int64_t m, std::int64_t n, std::int64_t* pivots);
  /// The lower triangle of a [n, n] := its Cholesky factor; what lies above is not read. False where a is not positive
  /// definite.
  bool factor_cholesky(T* a, std::int64_t row, std::int64_t n);

 private:
  /// c [m, n] -= a [m, k] b [k, n]
  void subtract(const T* a, std::int64_t a_row, const T* b, std::int64_t b_row, T* c, std::int64_t c_row,
                std::int64_t m, std::int64_t n, std::int64_t k);

  std::vector<T> negated_, panel_, aside_, turned_;
};

extern template class Triangles<float>;
extern template class Triangles<double>;

/// Calls body(begin, end, triangles) for parts of a batch of matrices, each of which takes about `operations`.
template <class T, class Body>
void each_part(const Shape& shape, double operations, Body&& body) {
  parallel_for(kiln::numel(op::batch_of(shape)), matrices_of_a_piece(operations),
               [&](std::int64_t begin, std::int64_t end) {
                 Triangles<T> triangles;
                 body(begin, end, triangles);
               });
}

}  // namespace kiln::cpu::simd
