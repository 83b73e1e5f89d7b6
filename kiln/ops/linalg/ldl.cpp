// Symmetric factorisation with pivots of one or two rows. The matrices are factored on the host, in float64.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kiln/ops/elementwise/precision.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/ops/linalg/linalg.hpp"
#include "kiln/ops/linalg/matrix.hpp"
#include "kiln/ops/view/diagonal.hpp"
#include "kiln/ops/view/view.hpp"

namespace kiln {
namespace {

using op::Precision;

/// One matrix of n rows while it is being factored.
struct Symmetric {
  std::int64_t n;
  std::vector<double> a;  // the part still to factor, from row k on
  std::vector<double> l, d;
  std::vector<std::int64_t> order;

  Symmetric(const double* from, std::int64_t size)
      : n(size), a(static_cast<std::size_t>(n * n)), l(a.size()), d(a.size()), order(static_cast<std::size_t>(n)) {
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) at(a, i, j) = (from[i * n + j] + from[j * n + i]) / 2;
    for (std::int64_t i = 0; i < n; ++i) at(l, i, i) = 1;
    std::iota(order.begin(), order.end(), std::int64_t{0});
  }
  double& at(std::vector<double>& matrix, std::int64_t i, std::int64_t j) const {
    return matrix[static_cast<std::size_t>(i * n + j)];
  }

  void factor() {
    for (std::int64_t k = 0; k < n;) k += eliminate(k, pivot(k));
  }

 private:
  /// The largest magnitude of column j from row `from` on, except in row j, and its row.
  std::pair<double, std::int64_t> largest(std::int64_t j, std::int64_t from) {
    double size = 0;
    std::int64_t row = from;
    for (std::int64_t i = from; i < n; ++i)
      if (i != j && std::abs(at(a, i, j)) > size) size = std::abs(at(a, i, j)), row = i;
    return {size, row};
  }
  /// Moves a pivot to row k and returns its number of rows; the choice bounds the growth of elements.
  std::int64_t pivot(std::int64_t k) {
    constexpr double kBound = 0.6403882032022076;  // (1 + sqrt(17)) / 8
    const auto [column, r] = largest(k, k + 1);
    const double own = std::abs(at(a, k, k));
    if (own >= kBound * column) return 1;
    const double row = largest(r, k).first;
    if (own * row >= kBound * column * column) return 1;
    if (std::abs(at(a, r, r)) >= kBound * row) {
      exchange(k, r);
      return 1;
    }
    exchange(k + 1, r);
    return 2;
  }
  void exchange(std::int64_t i, std::int64_t j) {
    if (i == j) return;
    for (std::int64_t c = 0; c < n; ++c) std::swap(at(a, i, c), at(a, j, c));
    for (std::int64_t c = 0; c < n; ++c) std::swap(at(a, c, i), at(a, c, j));
    for (std::int64_t c = 0; c < std::min(i, j); ++c) std::swap(at(l, i, c), at(l, j, c));
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(j)]);
  }
  std::int64_t eliminate(std::int64_t k, std::int64_t rows) {
    const double p = at(a, k, k);
    at(d, k, k) = p;
    if (rows == 1) {
      if (p == 0) return 1;  // then the whole column is 0
      for (std::int64_t i = k + 1; i < n; ++i) at(l, i, k) = at(a, i, k) / p;
      for (std::int64_t i = k + 1; i < n; ++i)
        for (std::int64_t j = k + 1; j < n; ++j) at(a, i, j) -= at(l, i, k) * at(a, k, j);
      return 1;
    }
    const double q = at(a, k + 1, k + 1), e = at(a, k + 1, k);
    at(d, k + 1, k + 1) = q;
    at(d, k + 1, k) = at(d, k, k + 1) = e;
    // Scaled by e, the largest of the three.
    const double scale = (p / e) * (q / e) - 1;
    for (std::int64_t i = k + 2; i < n; ++i) {
      const double x = at(a, i, k) / e, y = at(a, i, k + 1) / e;
      at(l, i, k) = (q / e * x - y) / scale;
      at(l, i, k + 1) = (p / e * y - x) / scale;
    }
    for (std::int64_t i = k + 2; i < n; ++i)
      for (std::int64_t j = k + 2; j < n; ++j)
        at(a, i, j) -= at(l, i, k) * at(a, k, j) + at(l, i, k + 1) * at(a, k + 1, j);
    return 2;
  }
};

/// x with its rows shifted by `by`: row i holds row i + by of x, and 0 beyond the ends.
Value shifted(const Value& x, std::int64_t by) {
  const int rank = x.rank(), dim = rank - 2;
  Dims before = Dims::filled(rank, 0), after = before;
  before[dim] = -by;
  after[dim] = by;
  return pad(x, before, after);
}

}  // namespace

LdlFactors ldl_factor(const Value& a) {
  const Precision precision("ldl_factor", a);
  op::require_square("ldl_factor", precision.enter(a));
  require<AutodiffError>(!a.tracked(), "ldl_factor: has no gradient; solve() has, or detach() the matrix");
  const TensorData data = cast(a, DType::F64).data();
  const std::int64_t n = a.dim(-1), count = n ? data.numel() / (n * n) : 0;
  std::vector<double> l, d;
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < count; ++i) {
    Symmetric matrix(data.as<double>().data() + i * n * n, n);
    matrix.factor();
    l.insert(l.end(), matrix.l.begin(), matrix.l.end());
    d.insert(d.end(), matrix.d.begin(), matrix.d.end());
    order.insert(order.end(), matrix.order.begin(), matrix.order.end());
  }
  const auto upload = [&](const std::vector<double>& numbers) {
    return precision.leave(from_data(TensorData::of<double>(a.shape(), numbers), a.device()));
  };
  Shape rows = a.shape();
  rows.pop_back();
  return {upload(l), upload(d), from_data(TensorData::of<std::int64_t>(rows, order), a.device())};
}

Value ldl_solve(const LdlFactors& factors, const Value& b) {
  const Precision precision("ldl_solve", {factors.l, b});
  if (b.rank() == 1) return squeeze(ldl_solve(factors, unsqueeze(b, 1)), -1);
  const Value l = precision.enter(factors.l), d = precision.enter(factors.d);
  Value x = precision.enter(b);
  op::require_square("ldl_solve", l);
  require<ShapeError>(x.rank() >= 2 && x.dim(-2) == l.dim(-1), "ldl_solve: ", l.shape(), " and the right side ",
                      b.shape(), " do not fit");
  const Shape batch = broadcast("ldl_solve", op::batch_of(l.shape()), op::batch_of(x.shape()));
  x = expand(x, op::batched(batch, {x.dim(-2), x.dim(-1)}));
  const Value places = expand(unsqueeze(factors.permutation, -1), x.shape());
  x = triangular_solve(l, gather(x, -2, places), {.unit = true});
  // Solves each block of d by Cramer's rule: `next` couples a row to the one below it, `last` to the one above.
  const Value own = unsqueeze(diagonal(d), -1), off = unsqueeze(diagonal(d, -1), -1);
  const Dims none = Dims::filled(own.rank(), 0);
  Dims one = none;
  one[own.rank() - 2] = 1;
  const Value next = pad(off, none, one), last = pad(off, one, none);
  const Value first = ne(next, 0), second = ne(last, 0);
  const Value coupling = where(first, next, last);
  const Value other = where(first, shifted(own, 1), where(second, shifted(own, -1), 1.0));
  const Value rest = where(first, shifted(x, 1), where(second, shifted(x, -1), 0.0));
  x = (other * x - coupling * rest) / (own * other - square(coupling));
  x = triangular_solve(transpose(l), x, {.upper = true, .unit = true});
  return precision.leave(scatter(zeros_like(x), -2, places, x));
}

}  // namespace kiln
