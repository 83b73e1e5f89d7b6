#include "kiln/backend/cpu/reference/reference.hpp"
#include "kiln/ops/linalg/factor_ops.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kiln/backend/cpu/orientation.hpp"
#include "kiln/backend/cpu/reference/linalg.hpp"

namespace kiln::cpu::reference {
namespace {

/// Computes l, the Cholesky factor of a; returns false where a is not positive definite.
bool factor_cholesky(const double* a, const Matrix& l) {
  const std::int64_t n = l.rows;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double rest = j <= i ? a[i * n + j] : 0;
      for (std::int64_t k = 0; k < j && j <= i; ++k) rest -= l(i, k) * l(j, k);
      if (i == j && !(rest > 0)) return false;
      l(i, j) = j > i ? 0 : i == j ? std::sqrt(rest) : rest / l(j, j);
    }
  }
  return true;
}

/// r := qᵀ r by reflections of its columns, whose product is q (Golub and Van Loan, "Matrix Computations", 5.2.2).
void factor_qr(const Matrix& q, const Matrix& r) {
  const std::int64_t m = r.rows, n = r.columns;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < m; ++j) q(i, j) = i == j;
  std::vector<double> v(static_cast<std::size_t>(m));
  for (std::int64_t k = 0; k < std::min(m, n); ++k) {
    double below = 0;
    for (std::int64_t i = k + 1; i < m; ++i) below = std::hypot(below, r(i, k));
    if (below == 0) continue;
    const double norm = std::copysign(std::hypot(r(k, k), below), r(k, k)), scale = 1 + std::abs(r(k, k) / norm);
    // v = (x + norm e) / norm, so that the reflection is 1 - v vᵀ / scale.
    for (std::int64_t i = k; i < m; ++i) v[static_cast<std::size_t>(i)] = r(i, k) / norm + (i == k);
    const auto reflect = [&](double* x, std::int64_t step) {
      double along = 0;
      for (std::int64_t i = k; i < m; ++i) along += v[static_cast<std::size_t>(i)] * x[i * step];
      for (std::int64_t i = k; i < m; ++i) x[i * step] -= v[static_cast<std::size_t>(i)] * along / scale;
    };
    for (std::int64_t j = k; j < n; ++j) reflect(r.data + j, n);
    for (std::int64_t i = k + 1; i < m; ++i) r(i, k) = 0;
    for (std::int64_t i = 0; i < m; ++i) reflect(q.data + i * m, 1);
  }
}

/// Returns the exponent by which the largest of some elements is near 1, or 0 where there is none. Scaled by it, the
/// remainders of columns that depend on others keep their digits, however small the elements are.
int exponent_of(const double* elements, std::int64_t count) {
  double largest = 0;
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(elements[i]));
  return largest > 0 && std::isfinite(largest) ? std::ilogb(largest) : 0;
}

}  // namespace

double factor_lu(const Matrix& a, std::int64_t* permutation) {
  double sign = 1;
  for (std::int64_t i = 0; i < a.rows; ++i) permutation[i] = i;
  for (std::int64_t k = 0; k < std::min(a.rows, a.columns); ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < a.rows; ++i)
      if (std::abs(a(i, k)) > std::abs(a(pivot, k))) pivot = i;
    if (pivot != k) {
      std::swap_ranges(&a(k, 0), &a(k, 0) + a.columns, &a(pivot, 0));
      std::swap(permutation[k], permutation[pivot]);
      sign = -sign;
    }
    if (a(k, k) == 0) continue;
    for (std::int64_t i = k + 1; i < a.rows; ++i) {
      a(i, k) /= a(k, k);
      for (std::int64_t j = k + 1; j < a.columns; ++j) a(i, j) -= a(i, k) * a(k, j);
    }
  }
  return sign;
}

template <>
void run(const op::Cholesky&, Call call) {
  const RowMajor<double> a(read(call.in[0]));
  Result<double> l(call.out[0]);
  const Shape& shape = call.in[0].shape();
  const std::int64_t n = shape.back();
  each_matrix(shape, [&](std::int64_t i) {
    require<ArgumentError>(factor_cholesky(a.data() + i * n * n, {l.data() + i * n * n, n, n}),
                           "cholesky: ", op::matrix_name(call.in[0], i), " is not positive definite");
  });
  l.store();
}

template <>
void run(const op::Lu&, Call call) {
  const RowMajor<double> a(read(call.in[0]));
  Result<double> packed(call.out[op::Lu::packed]), sign(call.out[op::Lu::sign]);
  Result<std::int64_t> permutation(call.out[op::Lu::permutation]);
  const Shape& shape = call.in[0].shape();
  const std::int64_t m = op::rows_of(shape), n = op::columns_of(shape);
  std::copy_n(a.data(), numel(shape), packed.data());
  each_matrix(shape, [&](std::int64_t i) {
    sign[i] = factor_lu({packed.data() + i * m * n, m, n}, permutation.data() + i * m);
  });
  packed.store();
  sign.store();
}

template <>
void run(const op::Qr& op, Call call) {
  const RowMajor<double> a(read(call.in[0]));
  Result<double> q(call.out[op::Qr::q]), r(call.out[op::Qr::r]);
  const Shape& shape = call.in[0].shape();
  const std::int64_t m = op::rows_of(shape), n = op::columns_of(shape), width = op.complete ? m : std::min(m, n);
  std::vector<double> all_q(static_cast<std::size_t>(m * m)), all_r(static_cast<std::size_t>(m * n));
  each_matrix(shape, [&](std::int64_t i) {
    const int exponent = exponent_of(a.data() + i * m * n, m * n);
    for (std::int64_t k = 0; k < m * n; ++k)
      all_r[static_cast<std::size_t>(k)] = std::ldexp(a[i * m * n + k], -exponent);
    const Matrix full_q{all_q.data(), m, m}, full_r{all_r.data(), m, n};
    factor_qr(full_q, full_r);
    for (std::int64_t k = 0; k < std::min(m, n); ++k) {
      if (!(full_r(k, k) < 0)) continue;
      negate(&full_r(k, 0), n, 1);
      negate(&full_q(0, k), m, m);
    }
    for (std::int64_t row = 0; row < m; ++row)
      std::copy_n(all_q.data() + row * m, width, q.data() + (i * m + row) * width);
    for (std::int64_t k = 0; k < width * n; ++k)
      r[i * width * n + k] = std::ldexp(all_r[static_cast<std::size_t>(k)], exponent);
  });
  q.store();
  r.store();
}

}  // namespace kiln::cpu::reference
