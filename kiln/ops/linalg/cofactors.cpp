// Cofactors are products of all singular values but one, which the inverse gives as a quotient: det(a) / s_n. Far from
// singular matrices they are computed that way. Near them a quotient's derivatives are differences of much larger
// numbers: there a is transformed, by its singular vectors, into a diagonal matrix m; blocks of m, in which singular
// values have similar sizes, are inverted except for the last, and the terms that depend on the last block are
// polynomials in it.
#include "kiln/ops/linalg/cofactors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kiln/ops/linalg/linalg.hpp"
#include "kiln/ops/linalg/matrix.hpp"
#include "kiln/ops/product/products.hpp"
#include "kiln/ops/reduce/scan.hpp"
#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/ops/view/diagonal.hpp"

namespace kiln::op {
namespace {

constexpr std::int64_t kFew = 4;    // up to this size polynomials are exact and cheap
constexpr std::int64_t kMost = 16;  // the most rows of a polynomial; each costs a product

Value per_matrix(const Value& numbers) { return unsqueeze(unsqueeze(numbers, -1), -1); }

double epsilon_of(const Value& a) {
  return a.dtype() == DType::F64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
}
/// Up to this condition number, in the 1-norm, second and third derivatives go through the inverse. The error of the
/// third grows with the square of the condition number.
double largest_condition(const Value& a) { return a.dtype() == DType::F64 ? 1e4 : 1e3; }

/// A determinant and the transpose of its cofactors.
struct Adjugate {
  Value det, matrix;
};

/// The number of singular values in each block; the last block is computed as a polynomial and may be empty.
using Blocks = std::vector<std::int64_t>;

/// Faddeev and Leverrier's method: the only divisions are by integers (Householder, "The Theory of Matrices in
/// Numerical Analysis", 6.7).
Adjugate by_traces(const Value& m) {
  const std::int64_t n = columns_of(m.shape());
  const Value one = identity(n, m);
  Value power = expand(one, m.shape()), coefficient;
  for (std::int64_t k = 1;; ++k) {
    const Value product = matmul(m, power);
    coefficient = sum(diagonal(product), {-1}) * (-1.0 / static_cast<double>(k));
    if (k == n) break;
    power = product + per_matrix(coefficient) * one;
  }
  const double sign = n % 2 ? -1 : 1;
  return {coefficient * sign, power * -sign};
}

/// The adjugate of a diagonal matrix whose off-diagonal elements are 0 but have derivatives. For matrices with more
/// rows than orders of derivatives are taken, those derivatives are 0 up to rounding and left out.
Adjugate of_diagonal(const Value& m) {
  const Value values = diagonal(m).detach();
  const Value before = cumprod(values, -1, {.exclusive = true}),
              after = cumprod(values, -1, {.exclusive = true, .reverse = true});
  const Adjugate exact{prod(values, {-1}), diag_embed(before * after)};
  if (!grad_enabled() || columns_of(m.shape()) > kMost) return exact;
  const Adjugate polynomial = by_traces(m);
  const auto slope = [](const Value& x) { return x - x.detach(); };
  return {exact.det + slope(polynomial.det), exact.matrix + slope(polynomial.matrix)};
}

Adjugate of_blocks(const Value& m, const Blocks& blocks, std::size_t from) {
  const std::int64_t n = columns_of(m.shape()), k = blocks[from];
  if (from + 1 == blocks.size()) return of_diagonal(m);
  const auto part = [&](std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
    return narrow(narrow(m, -2, row, rows), -1, column, columns);
  };
  const Value first = part(0, k, 0, k), inverted = inverse(first), d = det(first), d_each = per_matrix(d);
  if (k == n) return {d, d_each * inverted};
  // The Schur complement of the first block.
  const Value right = matmul(inverted, part(0, k, k, n - k)), below = matmul(part(k, n - k, 0, k), inverted);
  const Adjugate rest = of_blocks(part(k, n - k, k, n - k) - matmul(part(k, n - k, 0, k), right), blocks, from + 1);
  const Value left_of_rest = matmul(right, rest.matrix);
  const Value upper = cat(Values{per_matrix(rest.det) * inverted + matmul(left_of_rest, below), -left_of_rest}, -1);
  const Value lower = cat(Values{-matmul(rest.matrix, below), rest.matrix}, -1);
  return {d * rest.det, d_each * cat(Values{upper, lower}, -2)};
}

/// Splits descending singular values into blocks.
Blocks blocks_of(const double* values, std::int64_t n, double rounding, double condition) {
  Blocks blocks;
  std::int64_t at = 0;
  while (n - at > kFew && values[at] > rounding * values[0]) {
    std::int64_t end = at + 1;
    while (end < n && values[end] * condition >= values[at] && values[end] > rounding * values[0]) ++end;
    blocks.push_back(end - at);
    at = end;
  }
  if (at < n) blocks.push_back(n - at);
  else blocks.push_back(0);
  return blocks;
}

Value indices(const std::vector<std::int64_t>& numbers, const Device& device) {
  return from_data(TensorData::of<std::int64_t>({static_cast<std::int64_t>(numbers.size())}, numbers), device);
}

/// Cofactors of all matrices of a [count, n, n], in the order of `order`, which this function fills.
Value of_singular(const Value& a, std::vector<std::int64_t>& order) {
  const std::int64_t count = a.dim(0), n = a.dim(1);
  const auto [u, s, vt] = svd(a.detach());
  const Value sign = kiln::sign(det(u) * det(vt));
  const std::vector<double> values = s.data().to_vector<double>();
  std::vector<std::pair<Blocks, std::vector<std::int64_t>>> alike;
  for (std::int64_t i = 0; i < count; ++i) {
    const Blocks blocks =
        blocks_of(values.data() + i * n, n, epsilon_of(a) * static_cast<double>(4 * n), largest_condition(a));
    const auto found = std::ranges::find(alike, blocks, &std::pair<Blocks, std::vector<std::int64_t>>::first);
    if (found != alike.end()) found->second.push_back(i);
    else alike.push_back({blocks, {i}});
  }
  Values parts;
  for (const auto& [blocks, members] : alike) {
    const Value which = indices(members, a.device());
    const auto of = [&](const Value& all) { return select(all, 0, which); };
    const Value left = of(u), right = of(vt);
    const Value turned = matmul(matmul(transpose(left), of(a)), transpose(right));
    // Its off-diagonal elements are rounding errors: set to 0, keeping their derivatives.
    const Value m = diag_embed(of(s)) + (turned - turned.detach());
    const Adjugate adjugate = of_blocks(m, blocks, 0);
    parts.push_back(per_matrix(of(sign)) * matmul(matmul(left, transpose(adjugate.matrix)), right));
    order.insert(order.end(), members.begin(), members.end());
  }
  return parts.size() == 1 ? parts[0] : cat(parts, 0);
}

/// Each row of cofactors is the cross product of the other two rows.
Value of_three(const Value& a) {
  const auto row = [&](std::int64_t i) { return narrow(a, -2, i, 1); };
  return cat(Values{cross(row(1), row(2), -1), cross(row(2), row(0), -1), cross(row(0), row(1), -1)}, -2);
}

Value of_two(const Value& a) {
  const auto at = [&](std::int64_t i, std::int64_t j) { return narrow(narrow(a, -2, i, 1), -1, j, 1); };
  return cat(Values{cat(Values{at(1, 1), -at(1, 0)}, -1), cat(Values{-at(0, 1), at(0, 0)}, -1)}, -2);
}

}  // namespace

Value cofactors(const Value& a, const Value& det) {
  const std::int64_t n = columns_of(a.shape());
  if (n <= 1 || a.numel() == 0) return ones_like(a);
  if (n == 2) return of_two(a);
  if (n == 3) return of_three(a);

  const auto any_of = [](const Value& mask) { return any(mask).item() != 0; };
  const Value size = matrix_norm(a.detach(), MatrixNorm::One), finite = eq(size - size, 0);
  const Value zero = where(finite, eq(det.detach(), 0), false);
  // NaN or infinity in a matrix makes its cofactors NaN.
  Value safe = a;
  if (any_of(zero) || !all(finite).item()) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    safe = where(per_matrix(zero), identity(n, a), where(per_matrix(finite), a, nan));
  }
  Value inverted = inverse(safe);
  // The error of the first derivative does not grow with the condition number: determinant and inverse share their
  // factors.
  const double limit = grad_enabled() ? largest_condition(a) : 0.05 / epsilon_of(a);
  const Value condition = size * matrix_norm(inverted.detach(), MatrixNorm::One);
  const Value singular = where(zero, true, where(finite, gt(condition, limit), false));
  if (!any_of(singular)) return per_matrix(det) * transpose(inverted);

  inverted = inverse(where(per_matrix(singular), identity(n, a), safe));
  const std::int64_t count = numel(batch_of(a.shape()));
  const Value regular = reshape(per_matrix(det) * transpose(inverted), {count, n, n});
  std::vector<std::int64_t> which, place, order;
  const std::vector<double> mask = cast(singular, DType::F64).data().to_vector<double>();
  for (std::int64_t i = 0; i < count; ++i) {
    place.push_back(i);
    if (mask[static_cast<std::size_t>(i)] != 0) which.push_back(i);
  }
  const Value others = of_singular(select(reshape(a, {count, n, n}), 0, indices(which, a.device())), order);
  for (std::size_t i = 0; i < order.size(); ++i)
    place[static_cast<std::size_t>(which[static_cast<std::size_t>(order[i])])] = count + static_cast<std::int64_t>(i);
  return reshape(select(cat(Values{regular, others}, 0), 0, indices(place, a.device())), a.shape());
}

}  // namespace kiln::op
