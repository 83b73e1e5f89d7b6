#include "kiln/backend/cpu/reference/reference.hpp"
#include "kiln/ops/linalg/solve_ops.hpp"

#include <algorithm>
#include <vector>

#include "kiln/backend/cpu/reference/linalg.hpp"

namespace kiln::cpu::reference {

void substitute(const Matrix& t, const Matrix& x, bool upper, bool unit) {
  const std::int64_t n = t.rows;
  for (std::int64_t step = 0; step < n; ++step) {
    const std::int64_t i = upper ? n - 1 - step : step;
    for (std::int64_t j = upper ? i + 1 : 0; j < (upper ? n : i); ++j)
      for (std::int64_t k = 0; k < x.columns; ++k) x(i, k) -= t(i, j) * x(j, k);
    for (std::int64_t k = 0; k < x.columns && !unit; ++k) x(i, k) /= t(i, i);
  }
}

template <>
void run(const op::Solve& op, Call call) {
  const Value& operand = call.in[op::Solve::a];
  const bool invert = call.in[op::Solve::b].empty();
  const RowMajor<double> a(read(operand)), b(read(call.in[invert ? op::Solve::a : op::Solve::b]));
  Result<double> x(call.out[0]);
  const std::int64_t n = operand.shape().back(), columns = call.out[0].shape().back();
  std::vector<double> factors(static_cast<std::size_t>(n * n));
  std::vector<std::int64_t> permutation(static_cast<std::size_t>(n));
  each_matrix(operand.shape(), [&](std::int64_t i) {
    std::copy_n(a.data() + i * n * n, n * n, factors.data());
    const Matrix packed{factors.data(), n, n}, result{x.data() + i * n * columns, n, columns};
    factor_lu(packed, permutation.data());
    for (std::int64_t row = 0; row < n; ++row) {
      require<ArgumentError>(packed(row, row) != 0, op.called_function(call.in), ": ", op::matrix_name(operand, i),
                             " is singular");
      const std::int64_t from = permutation[static_cast<std::size_t>(row)];
      for (std::int64_t j = 0; j < columns; ++j) result(row, j) = invert ? from == j : b[(i * n + from) * columns + j];
    }
    substitute(packed, result, false, true);
    substitute(packed, result, true, false);
  });
  x.store();
}

template <>
void run(const op::TriangularSolve& op, Call call) {
  const Value& operand = call.in[op::TriangularSolve::a];
  const RowMajor<double> a(read(operand)), b(read(call.in[op::TriangularSolve::b]));
  Result<double> x(call.out[0]);
  const std::int64_t n = operand.shape().back(), columns = call.out[0].shape().back();
  std::vector<double> held(static_cast<std::size_t>(n * n));
  std::copy_n(b.data(), call.out[0].numel(), x.data());
  each_matrix(operand.shape(), [&](std::int64_t i) {
    std::copy_n(a.data() + i * n * n, n * n, held.data());
    const Matrix triangle{held.data(), n, n};
    for (std::int64_t k = 0; k < n && !op.unit; ++k)
      require<ArgumentError>(triangle(k, k) != 0, "triangular_solve: ", op::matrix_name(operand, i),
                             " is singular: element ", k, " of its diagonal is 0");
    substitute(triangle, {x.data() + i * n * columns, n, columns}, op.upper, op.unit);
  });
  x.store();
}

}  // namespace kiln::cpu::reference
