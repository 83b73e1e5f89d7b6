#include <algorithm>

#include "kiln/backend/cpu/lapack/batch.hpp"
#include "kiln/backend/cpu/lapack/lapack.hpp"
#include "kiln/backend/cpu/lapack/routines.hpp"
#include "kiln/backend/cpu/orientation.hpp"

namespace kiln::cpu::lapack {
namespace {

template <class T>
void cholesky(T* a, int n, const Value& operand, std::int64_t index) {
  int info = 0;
  Routines<T>::potrf("U", &n, a, &n, &info, 1);  // the upper triangle by columns is the lower one by rows
  bool positive = info == 0;
  for (int row = 0; row < n; ++row) {
    positive = positive && a[row * std::int64_t{n} + row] > 0;  // NaN may pass through
    std::fill(a + row * std::int64_t{n} + row + 1, a + (row + 1) * std::int64_t{n}, T{0});
  }
  require<ArgumentError>(positive, "cholesky: ", op::matrix_name(operand, index), " is not positive definite");
}

/// Interchanges of rows as the permutation that they make of 0, 1, ...; returns its sign.
int permute(const std::vector<int>& pivots, std::int64_t* permutation, std::int64_t rows) {
  int sign = 1;
  for (std::int64_t i = 0; i < rows; ++i) permutation[i] = i;
  for (std::size_t i = 0; i < pivots.size(); ++i) {
    const auto other = static_cast<std::size_t>(pivots[i] - 1);
    if (other == i) continue;
    std::swap(permutation[i], permutation[other]);
    sign = -sign;
  }
  return sign;
}

}  // namespace

bool run(const op::Cholesky&, Call call) {
  const Shape& shape = call.in[0].shape();
  if (!countable(shape)) return false;
  const Array l = copied(call.in[0], call.out[0]);
  const std::int64_t n = shape.back();
  if (n == 0) return true;
  visit_real(l.dtype, [&]<class T>(TypeTag<T>) {
    each_part(count_of_matrices(shape), cube(n), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) cholesky(l.as<T>() + i * n * n, static_cast<int>(n), call.in[0], i);
    });
  });
  return true;
}

bool run(const op::Lu&, Call call) {
  const Value& operand = call.in[0];
  const Shape& shape = operand.shape();
  if (!countable(shape)) return false;
  const Array packed = allocate(call.out[op::Lu::packed]), permutation = allocate(call.out[op::Lu::permutation]);
  const Array sign = allocate(call.out[op::Lu::sign]);
  // Rows are interchanged, so that the matrices must lie by columns.
  Value held(make_ref<Node>(operand.node()->desc, operand.device()));
  Dims by_columns = contiguous_strides(shape);
  by_columns[shape.size() - 2] = 1;
  by_columns.back() = op::rows_of(shape);
  const Array work = allocate(held, by_columns, MemoryUse::Scratch);
  copy(read(operand), work);

  const int m = static_cast<int>(op::rows_of(shape)), n = static_cast<int>(op::columns_of(shape));
  visit_real(packed.dtype, [&]<class T>(TypeTag<T>) {
    each_part(count_of_matrices(shape), cube(std::max(m, n)), [&](std::int64_t begin, std::int64_t end) {
      std::vector<int> pivots(static_cast<std::size_t>(std::min(m, n)));
      for (std::int64_t i = begin; i < end; ++i) {
        int info = 0;
        if (!pivots.empty()) Routines<T>::getrf(&m, &n, work.as<T>() + i * m * n, &m, pivots.data(), &info);
        sign.as<T>()[i] = static_cast<T>(permute(pivots, permutation.as<std::int64_t>() + i * m, m));
      }
    });
  });
  copy(work, packed);
  return true;
}

// By columns, a is aᵀ, and its factorisation l q is that of a into qᵀ lᵀ, in place.
bool run(const op::Qr& op, Call call) {
  const Shape& shape = call.in[0].shape();
  if (!countable(shape)) return false;
  const Array q = allocate(call.out[op::Qr::q]), r = allocate(call.out[op::Qr::r]);
  Value held;
  const Array a = read_contiguous(call.in[0], held);
  const int m = static_cast<int>(op::rows_of(shape)), n = static_cast<int>(op::columns_of(shape));
  const int k = std::min(m, n), width = op.complete ? m : k;  // of q
  if (m == 0) return true;
  visit_real(q.dtype, [&]<class T>(TypeTag<T>) {
    each_part(count_of_matrices(shape), cube(std::max(m, n)), [&](std::int64_t begin, std::int64_t end) {
      const int size = 64 * std::max(n, width);  // LAPACK works in blocks of up to 64
      std::vector<T> reflectors(static_cast<std::size_t>(std::int64_t{m} * n)), tau(static_cast<std::size_t>(k));
      std::vector<T> work(static_cast<std::size_t>(size));
      for (std::int64_t i = begin; i < end; ++i) {
        int info = 0;
        T *to_q = q.as<T>() + i * m * width, *to_r = r.as<T>() + i * width * n;
        std::copy_n(a.as<T>() + i * m * n, reflectors.size(), reflectors.data());
        if (k > 0) Routines<T>::gelqf(&n, &m, reflectors.data(), &n, tau.data(), work.data(), &size, &info);
        // r is the part on and above the diagonal; what is left of it are the reflectors that make q.
        for (std::int64_t row = 0; row < m; ++row) {
          const T* from = reflectors.data() + row * n;
          for (std::int64_t column = 0; column < n && row < width; ++column)
            to_r[row * n + column] = row <= column ? from[column] : T{0};
          for (std::int64_t column = 0; column < width; ++column)
            to_q[row * width + column] = column < n ? from[column] : T{0};
        }
        if (width > 0) Routines<T>::orglq(&width, &m, &k, to_q, &width, tau.data(), work.data(), &size, &info);
        for (int j = 0; j < k; ++j) {
          T* diagonal = to_r + j * std::int64_t{n} + j;
          if (!(*diagonal < 0)) continue;
          negate(diagonal, n - j, 1);
          negate(to_q + j, m, width);
        }
      }
    });
  });
  return true;
}

}  // namespace kiln::cpu::lapack
