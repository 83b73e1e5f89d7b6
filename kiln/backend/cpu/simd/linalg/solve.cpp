// LU and Cholesky factors of matrices, and solutions that use them.
#include <algorithm>
#include <vector>

#include "kiln/backend/cpu/simd/linalg/lanes.hpp"
#include "kiln/backend/cpu/simd/linalg/triangles.hpp"
#include "kiln/backend/cpu/simd/simd.hpp"
#include "kiln/ops/linalg/factor_ops.hpp"
#include "kiln/ops/linalg/solve_ops.hpp"

namespace kiln::cpu::simd {

using std::int64_t;

bool run(const op::Cholesky&, Call call) {
  if (factor_cholesky_in_lanes(call)) return true;
  const Shape& shape = call.in[0].shape();
  const Array l = copied(call.in[0], call.out[0]);
  const int64_t n = shape.back();
  if (n == 0) return true;
  visit_real(l.dtype, [&]<class T>(TypeTag<T>) {
    each_part<T>(shape, cube(n), [&](int64_t begin, int64_t end, Triangles<T>& triangles) {
      for (int64_t i = begin; i < end; ++i) {
        T* const matrix = l.as<T>() + i * n * n;
        if (!triangles.factor_cholesky(matrix, n, n))
          fail<ArgumentError>("cholesky: ", op::matrix_name(call.in[0], i), " is not positive definite");
        for (int64_t row = 0; row < n; ++row) std::fill(matrix + row * n + row + 1, matrix + (row + 1) * n, T{0});
      }
    });
  });
  return true;
}

bool run(const op::Lu&, Call call) {
  const Shape& shape = call.in[0].shape();
  const Array packed = copied(call.in[0], call.out[op::Lu::packed]),
              permutation = allocate(call.out[op::Lu::permutation]), signs = allocate(call.out[op::Lu::sign]);
  const int64_t m = op::rows_of(shape), n = op::columns_of(shape);
  visit_real(packed.dtype, [&]<class T>(TypeTag<T>) {
    each_part<T>(shape, cube(std::max(m, n)), [&](int64_t begin, int64_t end, Triangles<T>& triangles) {
      std::vector<int64_t> pivots(static_cast<std::size_t>(std::min(m, n)));
      for (int64_t i = begin; i < end; ++i) {
        triangles.factor_lu(packed.as<T>() + i * m * n, m, n, pivots.data());
        int64_t* const places = permutation.as<int64_t>() + i * m;
        for (int64_t row = 0; row < m; ++row) places[row] = row;
        T sign = 1;
        for (std::size_t row = 0; row < pivots.size(); ++row) {
          if (pivots[row] == static_cast<int64_t>(row)) continue;
          std::swap(places[row], places[pivots[row]]);
          sign = -sign;
        }
        signs.as<T>()[i] = sign;
      }
    });
  });
  return true;
}

bool run(const op::Solve& op, Call call) {
  const Value& operand = call.in[op::Solve::a];
  const Shape& shape = operand.shape();
  const bool invert = call.in[op::Solve::b].empty();
  const Array x = invert ? allocate(call.out[0]) : copied(call.in[op::Solve::b], call.out[0]);
  Value held;
  const Array a = read_contiguous(operand, held);
  const int64_t n = shape.back(), columns = x.shape.back();
  if (n == 0) return true;
  visit_real(x.dtype, [&]<class T>(TypeTag<T>) {
    each_part<T>(shape, cube(n), [&](int64_t begin, int64_t end, Triangles<T>& triangles) {
      std::vector<int64_t> pivots(static_cast<std::size_t>(n));
      std::vector<T> factors(static_cast<std::size_t>(n * n));
      for (int64_t i = begin; i < end; ++i) {
        std::copy_n(a.as<T>() + i * n * n, n * n, factors.data());
        triangles.factor_lu(factors.data(), n, n, pivots.data());
        for (int64_t row = 0; row < n; ++row)
          if (factors[static_cast<std::size_t>(row * n + row)] == 0)
            fail<ArgumentError>(op.called_function(call.in), ": ", op::matrix_name(operand, i), " is singular");
        T* const to = x.as<T>() + i * n * columns;
        if (invert) {
          std::fill_n(to, n * n, T{0});
          for (int64_t row = 0; row < n; ++row) to[row * n + row] = 1;
        }
        for (int64_t row = 0; row < n; ++row) {
          const int64_t other = pivots[static_cast<std::size_t>(row)];
          if (other != row) std::swap_ranges(to + row * columns, to + (row + 1) * columns, to + other * columns);
        }
        triangles.divide(factors.data(), n, false, true, to, columns, n, columns);
        triangles.divide(factors.data(), n, true, false, to, columns, n, columns);
      }
    });
  });
  return true;
}

bool run(const op::TriangularSolve& op, Call call) {
  const Value& operand = call.in[op::TriangularSolve::a];
  const Shape& shape = operand.shape();
  const Array x = copied(call.in[op::TriangularSolve::b], call.out[0]);
  Value held;
  const Array a = read_contiguous(operand, held);
  const int64_t n = shape.back(), columns = x.shape.back();
  const double operations = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(columns);
  visit_real(x.dtype, [&]<class T>(TypeTag<T>) {
    each_part<T>(shape, operations, [&](int64_t begin, int64_t end, Triangles<T>& triangles) {
      for (int64_t i = begin; i < end; ++i) {
        const T* const triangle = a.as<T>() + i * n * n;
        for (int64_t k = 0; k < n && !op.unit; ++k)
          if (triangle[k * n + k] == 0)
            fail<ArgumentError>("triangular_solve: ", op::matrix_name(operand, i), " is singular: element ", k,
                                " of its diagonal is 0");
        triangles.divide(triangle, n, op.upper, op.unit, x.as<T>() + i * n * columns, columns, n, columns);
      }
    });
  });
  return true;
}

}  // namespace kiln::cpu::simd
