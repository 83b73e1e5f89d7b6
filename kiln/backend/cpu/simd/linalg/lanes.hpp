// Small matrices of a batch, one in each lane of vectors: what one waits for, the division before a root before a division,
// all the others of its group wait for as well.
#pragma once
#include <algorithm>
#include <cstdint>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/matrix_batch.hpp"
#include "kiln/backend/cpu/simd/product/product_tiles.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/linalg/factor_ops.hpp"
#include "kiln/ops/linalg/matrix.hpp"

namespace kiln::cpu::simd {

/// Element (i, j) of the matrices of a group is a vector, (i * columns + j) * width behind the first.
template <class T>
struct MatrixLanes {
  std::int64_t width;  // matrices of a group
  /// a [n, n], of which the lower triangle is read, := its Cholesky factor. That of a matrix which is not positive
  /// definite ends in NaN.
  void (*factor_cholesky)(T* a, std::int64_t n);
  /// a [m, n] := r, whose diagonal is not negative, and q [m, columns]: by Householder's reflections.
  void (*factor_qr)(T* a, T* q, std::int64_t m, std::int64_t n, std::int64_t columns);
  /// The diagonal of a [n, n] := its eigenvalues in any order, of which only the lower triangle is read, and the rows of
  /// v [n, n], which may be null, its eigenvectors: by Jacobi's method. False: it did not converge.
  bool (*diagonalize)(T* a, T* v, std::int64_t n);
  /// lengths [count] := the singular values, in any order, of a matrix of so many vectors, which are `step` apart, and
  /// their `length` elements element_step: Hestenes's method turns them until they are orthogonal. False as above.
  bool (*orthogonalize)(T* a, T* lengths, std::int64_t count, std::int64_t step, std::int64_t length,
                        std::int64_t element_step);
};
/// For the machine at hand; T is float or double.
template <class T> const MatrixLanes<T>& matrix_lanes();

/// Are matrices so small, and so many, that they go this way? Some lanes may be left over.
template <class T>
bool go_in_lanes(const Shape& shape) {
  constexpr std::int64_t kMost = 16;
  const std::int64_t m = op::rows_of(shape), n = op::columns_of(shape);
  return std::min(m, n) > 0 && std::max(m, n) <= kMost &&
         4 * kiln::numel(op::batch_of(shape)) >= matrix_lanes<T>().width;
}

/// Calls body(first, some, room) for groups of `some` matrices, where there is room for `vectors`; each matrix takes about
/// `operations`. Which matrices are a group does not depend on the threads.
template <class T, class Body>
void each_group(const Shape& shape, double operations, std::int64_t vectors, Body&& body) {
  const std::int64_t count = kiln::numel(op::batch_of(shape)), width = matrix_lanes<T>().width;
  parallel_for((count + width - 1) / width, matrices_of_a_piece(operations * static_cast<double>(width)),
               [&](std::int64_t begin, std::int64_t end) {
                 const auto memory = make_ref<Memory>(static_cast<std::size_t>(vectors * width) * sizeof(T));
                 for (std::int64_t first = begin * width; first < std::min(end * width, count); first += width)
                   body(first, std::min(width, count - first), reinterpret_cast<T*>(memory->bytes()));
               });
}

/// Some matrices of `area` numbers each into lanes, and back. Lanes that are left over become zeros.
template <class T>
void enter_lanes(const T* matrices, std::int64_t some, std::int64_t area, T* lanes) {
  const std::int64_t width = matrix_lanes<T>().width;
  if (some < width) std::fill_n(lanes, area * width, T{0});
  product_tiles<T>().turn(matrices, area, lanes, width, some, area);
}
template <class T>
void leave_lanes(const T* lanes, std::int64_t some, std::int64_t area, T* matrices) {
  product_tiles<T>().turn(lanes, matrix_lanes<T>().width, matrices, area, area, some);
}

/// Ops where matrices go in lanes. False: they do not, and nothing has happened.
bool factor_cholesky_in_lanes(Call call);
bool factor_qr_in_lanes(const op::Qr& op, Call call);

}  // namespace kiln::cpu::simd
