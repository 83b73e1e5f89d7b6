// Helpers of the plain linear algebra kernels, which compute in double whatever the element type is.
#pragma once
#include <span>

#include "kiln/backend/cpu/matrix_batch.hpp"
#include "kiln/backend/cpu/reference/chunk.hpp"

namespace kiln::cpu::reference {

/// A row-major matrix in memory that it does not own.
struct Matrix {
  double* data;
  std::int64_t rows, columns;
  double& operator()(std::int64_t i, std::int64_t j) const { return data[i * columns + j]; }
};

/// Calls f(index) for each matrix of the batch of `shape`.
template <class F>
void each_matrix(const Shape& shape, F&& f) {
  const std::int64_t count = kiln::numel(op::batch_of(shape));
  for (std::int64_t i = 0; i < count; ++i) f(i);
}

/// Factors a [m, n] in place by partial pivoting; fills permutation[m] and returns its sign (factor.cpp).
double factor_lu(const Matrix& a, std::int64_t* permutation);
/// Replaces x by the solution y of t y = x, for a triangular t [n, n]; a unit diagonal is not read (solve.cpp).
void substitute(const Matrix& t, const Matrix& x, bool upper, bool unit);
/// Replaces the columns of q from number `known` on such that all columns are an orthonormal basis (spectrum.cpp).
void complete_basis(const Matrix& q, std::int64_t known);

}  // namespace kiln::cpu::reference
