#include "kiln/backend/cpu/reference/reference.hpp"
#include "kiln/ops/linalg/spectrum_ops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "kiln/backend/cpu/orientation.hpp"
#include "kiln/backend/cpu/reference/linalg.hpp"

namespace kiln::cpu::reference {
namespace {

constexpr int kSweeps = 60;  // a dozen are enough
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

/// The cosine and sine of the rotation that makes the off-diagonal element of [[a, b], [b, d]] zero (Golub and Van
/// Loan, "Matrix Computations", 8.5.2).
struct Rotation {
  double c, s;
  Rotation(double a, double b, double d) {
    const double ratio = (d - a) / (2 * b);
    const double t = std::copysign(1, ratio) / (std::abs(ratio) + std::hypot(1, ratio));
    c = 1 / std::hypot(1, t);
    s = t * c;
  }
  void operator()(double* x, double* y, std::int64_t count, std::int64_t step) const {
    for (std::int64_t i = 0; i < count; ++i) {
      const double a = x[i * step], b = y[i * step];
      x[i * step] = c * a - s * b;
      y[i * step] = s * a + c * b;
    }
  }
};

/// Jacobi's method: makes a diagonal, and v the product of the rotations. Returns false if it did not converge.
bool diagonalize(const Matrix& a, const Matrix& v) {
  const std::int64_t n = a.rows;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) v(i, j) = i == j;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool diagonal = true;
    double scale = 0;
    for (std::int64_t i = 0; i < n * n; ++i) scale = std::max(scale, std::abs(a.data[i]));
    for (std::int64_t p = 0; p < n; ++p) {
      for (std::int64_t q = p + 1; q < n; ++q) {
        if (std::abs(a(p, q)) <= kEpsilon * kEpsilon * scale) continue;
        diagonal = diagonal && std::abs(a(p, q)) <= kEpsilon * scale * 1e-3;
        const Rotation rotate(a(p, p), a(p, q), a(q, q));
        rotate(&a(0, p), &a(0, q), n, n);
        rotate(&a(p, 0), &a(q, 0), n, 1);
        rotate(&v(0, p), &v(0, q), n, n);
        a(p, q) = a(q, p) = 0;
      }
    }
    if (diagonal) return true;
  }
  return false;
}

/// Hestenes's one-sided method for rows >= columns and elements up to 1: rotates the columns of a until they are
/// orthogonal, and those of v with them, so that a vᵀ stays what a was. Returns false if it did not converge.
bool orthogonalize(const Matrix& a, const Matrix& v) {
  const std::int64_t m = a.rows, n = a.columns;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) v(i, j) = i == j;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool orthogonal = true;
    for (std::int64_t p = 0; p < n; ++p) {
      for (std::int64_t q = p + 1; q < n; ++q) {
        double pp = 0, pq = 0, qq = 0;
        for (std::int64_t i = 0; i < m; ++i) {
          pp += a(i, p) * a(i, p);
          pq += a(i, p) * a(i, q);
          qq += a(i, q) * a(i, q);
        }
        // A column that depends on others consists of rounding errors; it gets shorter with each sweep and never
        // becomes orthogonal, so it is left as it is.
        if (std::min(std::sqrt(pp), std::sqrt(qq)) <= kEpsilon * kEpsilon) continue;
        if (std::abs(pq) <= 4 * kEpsilon * std::sqrt(pp) * std::sqrt(qq)) continue;
        orthogonal = false;
        const Rotation rotate(pp, pq, qq);
        rotate(&a(0, p), &a(0, q), m, n);
        rotate(&v(0, p), &v(0, q), n, n);
      }
    }
    if (orthogonal) return true;
  }
  return false;
}

/// Returns the numbers 0, 1, ... sorted by `before`.
template <class Before>
std::vector<std::int64_t> ordered(std::int64_t count, Before before) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::int64_t a, std::int64_t b) { return before(a, b) || (!before(b, a) && a < b); });
  return order;
}

/// Decomposes a [m, n] = u [m, m] diag(s) vt [n, n] for m >= n. Returns false if the iteration did not converge.
bool decompose(const Matrix& a, const Matrix& u, double* s, const Matrix& vt) {
  const std::int64_t m = a.rows, n = a.columns;
  std::vector<double> turns(static_cast<std::size_t>(n * n)), lengths(static_cast<std::size_t>(n));
  // Squares neither overflow nor vanish if the largest element is near 1.
  double scale = 0;
  for (std::int64_t i = 0; i < m * n; ++i) scale = std::max(scale, std::abs(a.data[i]));
  if (scale == 0) scale = 1;
  for (std::int64_t i = 0; i < m * n; ++i) a.data[i] /= scale;
  const Matrix v{turns.data(), n, n};
  if (!orthogonalize(a, v)) return false;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i)
      lengths[static_cast<std::size_t>(j)] = std::hypot(lengths[static_cast<std::size_t>(j)], a(i, j));
  const auto order = ordered(n, [&](std::int64_t i, std::int64_t j) {
    return lengths[static_cast<std::size_t>(i)] > lengths[static_cast<std::size_t>(j)];
  });
  std::int64_t known = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    const std::int64_t from = order[static_cast<std::size_t>(j)];
    const double length = lengths[static_cast<std::size_t>(from)];
    s[j] = length * scale;
    for (std::int64_t i = 0; i < n; ++i) vt(j, i) = v(i, from);
    // Columns that consist of rounding errors have no direction.
    if (length <= kEpsilon * static_cast<double>(m) * lengths[static_cast<std::size_t>(order[0])]) continue;
    for (std::int64_t i = 0; i < m; ++i) u(i, j) = a(i, from) / length;
    known = j + 1;
  }
  complete_basis(u, known);
  for (std::int64_t j = 0; j < n; ++j) {
    if (!points_backwards(&u(0, j), m, m)) continue;
    negate(&u(0, j), m, m);
    negate(&vt(j, 0), n, 1);
  }
  return true;
}

/// Decomposes a matrix of any shape; for m < n the sides exchange their roles: u s vt = (vtᵀ s uᵀ)ᵀ.
bool decompose_any(std::vector<double>& a, std::int64_t m, std::int64_t n, std::vector<double>& u, double* s,
                   std::vector<double>& vt) {
  const auto transposed = [](std::vector<double>& x, std::int64_t rows, std::int64_t columns) {
    std::vector<double> result(x.size());
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        result[static_cast<std::size_t>(j * rows + i)] = x[static_cast<std::size_t>(i * columns + j)];
    x = std::move(result);
  };
  if (m >= n) return decompose({a.data(), m, n}, {u.data(), m, m}, s, {vt.data(), n, n});
  transposed(a, m, n);
  if (!decompose({a.data(), n, m}, {vt.data(), n, n}, s, {u.data(), m, m})) return false;
  transposed(vt, n, n);
  transposed(u, m, m);
  for (std::int64_t j = 0; j < m; ++j) {
    if (!points_backwards(u.data() + j, m, m)) continue;
    negate(u.data() + j, m, m);
    negate(vt.data() + j * n, n, 1);
  }
  return true;
}

}  // namespace

void complete_basis(const Matrix& q, std::int64_t known) {
  const std::int64_t m = q.rows;
  std::vector<double> candidate(static_cast<std::size_t>(m));
  for (std::int64_t next = known; next < q.columns; ++next) {
    double longest = 0;
    for (std::int64_t unit = 0; unit < m && longest < 0.5 / std::sqrt(static_cast<double>(m)); ++unit) {
      for (std::int64_t i = 0; i < m; ++i) candidate[static_cast<std::size_t>(i)] = i == unit;
      for (int pass = 0; pass < 2; ++pass) {  // the second pass removes what rounding left
        for (std::int64_t j = 0; j < next; ++j) {
          double along = 0;
          for (std::int64_t i = 0; i < m; ++i) along += q(i, j) * candidate[static_cast<std::size_t>(i)];
          for (std::int64_t i = 0; i < m; ++i) candidate[static_cast<std::size_t>(i)] -= along * q(i, j);
        }
      }
      double length = 0;
      for (const double x : candidate) length = std::hypot(length, x);
      if (length <= longest) continue;
      longest = length;
      for (std::int64_t i = 0; i < m; ++i) q(i, next) = candidate[static_cast<std::size_t>(i)] / length;
    }
  }
}

template <>
void run(const op::Eigh& op, Call call) {
  const Shape& shape = call.in[0].shape();
  const RowMajor<double> from(read(call.in[0]));
  Result<double> w(call.out[op::Eigh::w]);
  const std::int64_t n = shape.back();
  std::vector<double> held(static_cast<std::size_t>(n * n)), turns(held.size());
  const Matrix a{held.data(), n, n}, v{turns.data(), n, n};
  const auto decompose_into = [&](double* vectors, std::int64_t index) {
    const double* elements = from.data() + index * n * n;
    require_finite("eigh", elements, n * n, call.in[0], index);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) a(i, j) = elements[std::max(i, j) * n + std::min(i, j)];
    require_converged("eigh", diagonalize(a, v), call.in[0], index);
    const auto order = ordered(n, [&](std::int64_t i, std::int64_t j) { return a(i, i) < a(j, j); });
    for (std::int64_t k = 0; k < n; ++k) {
      const std::int64_t column = order[static_cast<std::size_t>(k)];
      w[index * n + k] = a(column, column);
      if (!vectors) continue;
      for (std::int64_t i = 0; i < n; ++i) vectors[i * n + k] = v(i, column);
      if (points_backwards(vectors + k, n, n)) negate(vectors + k, n, n);
    }
  };
  if (op.vectors) {
    Result<double> vectors(call.out[op::Eigh::v]);
    each_matrix(shape, [&](std::int64_t i) { decompose_into(vectors.data() + i * n * n, i); });
    vectors.store();
  } else {
    each_matrix(shape, [&](std::int64_t i) { decompose_into(nullptr, i); });
  }
  w.store();
}

template <>
void run(const op::Svd& op, Call call) {
  const Shape& shape = call.in[0].shape();
  const RowMajor<double> from(read(call.in[0]));
  const bool vectors = op.form != op::SvdForm::Values;
  Result<double> s(call.out[vectors ? op::Svd::s : 0]);
  const std::int64_t m = op::rows_of(shape), n = op::columns_of(shape), k = std::min(m, n);
  std::vector<double> a, left(static_cast<std::size_t>(m * m)), right(static_cast<std::size_t>(n * n));
  const auto decompose_one = [&](std::int64_t index) {
    a.assign(from.data() + index * m * n, from.data() + (index + 1) * m * n);
    require_finite("svd", a.data(), m * n, call.in[0], index);
    require_converged("svd", decompose_any(a, m, n, left, s.data() + index * k, right), call.in[0], index);
  };
  if (vectors) {
    Result<double> u(call.out[op::Svd::u]), vt(call.out[op::Svd::vt]);
    const std::int64_t width = call.out[op::Svd::u].dim(-1), height = call.out[op::Svd::vt].dim(-2);
    each_matrix(shape, [&](std::int64_t i) {
      decompose_one(i);
      for (std::int64_t row = 0; row < m; ++row)
        std::copy_n(left.data() + row * m, width, u.data() + (i * m + row) * width);
      std::copy_n(right.data(), height * n, vt.data() + i * height * n);
    });
    u.store();
    vt.store();
  } else {
    each_matrix(shape, decompose_one);
  }
  s.store();
}

}  // namespace kiln::cpu::reference
