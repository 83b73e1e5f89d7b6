// Computes small matrices of a batch together, one matrix in each lane of vectors. The chains of divisions and square
// roots of a factorisation then take as long for a group of matrices as for one.
#pragma once
#include <algorithm>
#include <cstdint>

#include "kiln/backend/cpu/matrix_batch.hpp"
#include "kiln/backend/cpu/simd/product/product_tiles.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/linalg/factor_ops.hpp"

namespace kiln::cpu::simd {

/// Functions for a group of matrices. The elements (i, j) of all matrices are one vector, at (i * columns + j) * width.
template <class T>
struct MatrixLanes {
  std::int64_t width;  // the number of matrices of a group
  /// a [n, n] := its Cholesky factor. Only the lower triangle of a is read. If a matrix is not positive definite, the
  /// last element of its factor is NaN.
  void (*factor_cholesky)(T* a, std::int64_t n);
  /// a [m, n] := r, whose diagonal is not negative, and q [m, columns], by Householder reflections. q is followed by
  /// space for min(m, n) more vectors.
  void (*factor_qr)(T* a, T* q, std::int64_t m, std::int64_t n, std::int64_t columns);
  /// The diagonal of a [n, n] := its eigenvalues in any order, and the rows of v [n, n] := its eigenvectors, by
  /// Jacobi's method. Only the lower triangle of a is read. v may be null. Returns false if the method did not
  /// converge.
  bool (*diagonalize)(T* a, T* v, std::int64_t n);
  /// lengths [count] := the singular values, in any order, of a matrix that consists of `count` vectors. The vectors
  /// are `step` elements apart, and their `length` elements are element_step apart. Hestenes's method rotates the
  /// vectors until they are orthogonal. Returns false if it did not converge.
  bool (*orthogonalize)(T* a, T* lengths, std::int64_t count, std::int64_t step, std::int64_t length,
                        std::int64_t element_step);
};
/// Returns the functions for the instruction set of this machine. T is float or double.
template <class T> const MatrixLanes<T>& matrix_lanes();

/// Returns whether the matrices are so small and so many that they are computed in lanes. Some lanes may remain unused.
template <class T>
bool fits_lanes(const Shape& shape) {
  constexpr std::int64_t kMost = 16;
  const std::int64_t m = op::rows_of(shape), n = op::columns_of(shape);
  return std::min(m, n) > 0 && std::max(m, n) <= kMost &&
         4 * kiln::numel(op::batch_of(shape)) >= matrix_lanes<T>().width;
}

/// Calls body(first, some, room) for groups of `some` matrices, on several threads. `workspace` is a workspace of
/// `vectors` vectors. Each matrix takes about `operations` operations. The groups do not depend on the number of
/// threads.
template <class T, class Body>
void each_group(const Shape& shape, double operations, std::int64_t vectors, Body&& body) {
  const std::int64_t count = kiln::numel(op::batch_of(shape)), width = matrix_lanes<T>().width;
  parallel_for((count + width - 1) / width, matrices_per_chunk(operations * static_cast<double>(width)),
               [&](std::int64_t begin, std::int64_t end) {
                 const auto memory = make_ref<Memory>(static_cast<std::size_t>(vectors * width) * sizeof(T));
                 for (std::int64_t first = begin * width; first < std::min(end * width, count); first += width)
                   body(first, std::min(width, count - first), reinterpret_cast<T*>(memory->bytes()));
               });
}

/// Copies `some` matrices of `area` numbers each into lanes, and back. Unused lanes become zeros.
template <class T>
void enter_lanes(const T* matrices, std::int64_t some, std::int64_t area, T* lanes) {
  const std::int64_t width = matrix_lanes<T>().width;
  if (some < width) std::fill_n(lanes, area * width, T{0});
  product_tiles<T>().transpose(matrices, area, lanes, width, some, area);
}
template <class T>
void leave_lanes(const T* lanes, std::int64_t some, std::int64_t area, T* matrices) {
  product_tiles<T>().transpose(lanes, matrix_lanes<T>().width, matrices, area, area, some);
}

/// Run an op in lanes. Return false, and do nothing, if its matrices are not computed in lanes.
bool factor_cholesky_in_lanes(Call call);
bool factor_qr_in_lanes(const op::Qr& op, Call call);

}  // namespace kiln::cpu::simd
