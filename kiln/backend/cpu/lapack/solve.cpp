#include <algorithm>
#include <limits>

#include "kiln/backend/cpu/lapack/batch.hpp"
#include "kiln/backend/cpu/lapack/lapack.hpp"
#include "kiln/backend/cpu/lapack/routines.hpp"

namespace kiln::cpu::lapack {
namespace {

/// x := x t⁻¹ for a triangular t stored by columns, as x [rows, n] is.
template <class T>
void divide(T* x, int rows, const T* t, int n, const char* triangle, const char* diagonal) {
  const T one = 1;
  Routines<T>::trsm("R", triangle, "N", diagonal, &rows, &n, &one, t, &n, x, &rows, 1, 1, 1, 1);
}

/// a := p l u for the matrix a that is stored by columns.
template <class T>
void factor(T* a, int n, std::vector<int>& pivots, std::string_view name, const Value& operand, std::int64_t index) {
  int info = 0;
  Routines<T>::getrf(&n, &n, a, &n, pivots.data(), &info);
  require<ArgumentError>(info == 0, name, ": ", op::matrix_name(operand, index), " is singular");
}

/// The routines skip products with 0, and so lose what is no number. Where the factors hold any, nothing of the solution
/// is one: says so, and fills it.
template <class T>
bool is_lost(const T* factors, std::int64_t area, T* solution, std::int64_t count) {
  if (std::none_of(factors, factors + area, [](T x) { return x != x; })) return false;
  std::fill_n(solution, count, std::numeric_limits<T>::quiet_NaN());
  return true;
}

}  // namespace

// By columns, a is aᵀ = p l u and b is bᵀ: from a x = b follows xᵀ p l u = bᵀ.
bool run(const op::Solve& op, Call call) {
  const Value& operand = call.in[op::Solve::a];
  const Shape& shape = operand.shape();
  const bool invert = call.in[op::Solve::b].empty();
  if (!countable(shape) || (!invert && !countable(call.out[0].shape()))) return false;
  const std::string_view name = op.called_function(call.in);
  const Array x = copied(call.in[invert ? op::Solve::a : op::Solve::b], call.out[0]);
  Value held;
  const Array a = read_contiguous(operand, held);
  const int n = static_cast<int>(shape.back()), columns = static_cast<int>(x.shape.back());
  if (n == 0) return true;
  visit_real(x.dtype, [&]<class T>(TypeTag<T>) {
    each_part(count_of_matrices(shape), cube(n), [&](std::int64_t begin, std::int64_t end) {
      std::vector<int> pivots(static_cast<std::size_t>(n));
      const std::int64_t area = std::int64_t{n} * n;
      const int size = 64 * n;
      std::vector<T> work(static_cast<std::size_t>(invert ? size : area));
      for (std::int64_t i = begin; i < end; ++i) {
        T* to = x.as<T>() + i * n * columns;
        if (invert) {
          int info = 0;
          factor(to, n, pivots, name, operand, i);
          if (is_lost(to, area, to, area)) continue;
          Routines<T>::getri(&n, to, &n, pivots.data(), work.data(), &size, &info);
          continue;
        }
        std::copy_n(a.as<T>() + i * area, area, work.data());
        factor(work.data(), n, pivots, name, operand, i);
        if (is_lost(work.data(), area, to, std::int64_t{n} * columns) || columns == 0) continue;
        divide(to, columns, work.data(), n, "U", "N");
        divide(to, columns, work.data(), n, "L", "U");
        for (int row = n - 1; row >= 0; --row) {
          T *one = to + std::int64_t{row} * columns,
            *other = to + std::int64_t{pivots[static_cast<std::size_t>(row)] - 1} * columns;
          if (one != other) std::swap_ranges(one, one + columns, other);
        }
      }
    });
  });
  return true;
}

bool run(const op::TriangularSolve& op, Call call) {
  const Value& operand = call.in[op::TriangularSolve::a];
  const Shape& shape = operand.shape();
  if (!countable(shape) || !countable(call.out[0].shape())) return false;
  const Array x = copied(call.in[op::TriangularSolve::b], call.out[0]);
  Value held;
  const Array a = read_contiguous(operand, held);
  const int n = static_cast<int>(shape.back()), columns = static_cast<int>(x.shape.back());
  visit_real(x.dtype, [&]<class T>(TypeTag<T>) {
    const double operations = static_cast<double>(n) * n * std::max(columns, 1);
    each_part(count_of_matrices(shape), operations, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const T* triangle = a.as<T>() + i * n * n;
        for (int k = 0; k < n && !op.unit; ++k)
          require<ArgumentError>(triangle[k * std::int64_t{n} + k] != 0,
                                 "triangular_solve: ", op::matrix_name(operand, i), " is singular: element ", k,
                                 " of its diagonal is 0");
        if (n == 0 || columns == 0) continue;
        divide(x.as<T>() + i * n * columns, columns, triangle, n, op.upper ? "L" : "U", op.unit ? "U" : "N");
      }
    });
  });
  return true;
}

}  // namespace kiln::cpu::lapack
