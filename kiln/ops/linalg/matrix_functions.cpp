// Numbers and functions of matrices.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/ops/elementwise/precision.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/linalg/linalg.hpp"
#include "kiln/ops/linalg/matrix.hpp"
#include "kiln/ops/linalg/solve_ops.hpp"
#include "kiln/ops/linalg/spectrum_ops.hpp"
#include "kiln/ops/view/diagonal.hpp"

namespace kiln {
namespace {

using op::batch_of;
using op::batched;
using op::columns_of;
using op::Precision;
using op::rows_of;

double cutoff_of(double cutoff, double absolute, const Value& a) {
  if (cutoff != kRounding) return cutoff;
  if (absolute > 0) return 0;
  const double epsilon =
      a.dtype() == DType::F64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  return epsilon * static_cast<double>(std::max(rows_of(a.shape()), columns_of(a.shape())));
}

Value pseudo_inverse(std::string_view op, const Value& a, double cutoff, double absolute = 0) {
  op::require_matrix(op, a);
  const Value p = emit(op::Pinv{cutoff_of(cutoff, absolute, a), absolute}, {a});
  if (cutoff != kRounding || absolute > 0 || !a.tracked() || a.numel() == 0) return p;
  // The trace of p a is the rank. Below full rank the derivative of p is infinite, unless the caller gave the cutoff: a
  // singular value that was cut off then stays cut off.
  const auto full = static_cast<double>(std::min(rows_of(a.shape()), columns_of(a.shape())));
  const Value rank = sum(p.detach() * transpose(a.detach()), {-2, -1}, true);
  return p + op::zero_without_slope(sum(a, {-2, -1}, true), lt(rank, full - 0.5));
}

/// A tensor on the device of `like` with numbers computed on the host.
Value uploaded(const Shape& shape, const std::vector<double>& numbers, const Value& like) {
  return from_data(TensorData::of<double>(shape, std::span<const double>(numbers)).to(like.dtype()), like.device());
}

/// The quotient of Padé's polynomials of degree 7 in a.
Value pade(const Value& a) {
  constexpr int kDegree = 7;
  double c[kDegree + 1] = {1};
  for (int k = 0; k < kDegree; ++k) c[k + 1] = c[k] * (kDegree - k) / ((2.0 * kDegree - k) * (k + 1));
  const Value one = op::identity(rows_of(a.shape()), a);
  const Value a2 = matmul(a, a), a4 = matmul(a2, a2), a6 = matmul(a4, a2);
  const Value odd = matmul(a, c[7] * a6 + c[5] * a4 + c[3] * a2 + c[1] * one);
  const Value even = c[6] * a6 + c[4] * a4 + c[2] * a2 + one;
  return solve(even - odd, even + odd);
}

}  // namespace

Value pinv(const Value& a, double cutoff, double absolute) {
  const Precision precision("pinv", a);
  return precision.leave(pseudo_inverse("pinv", precision.enter(a), cutoff, absolute));
}

Value lstsq(const Value& a, const Value& b, double cutoff) {
  const Precision precision("lstsq", {a, b});
  const Value left = precision.enter(a);
  op::require_matrix("lstsq", left);
  require<ShapeError>(b.rank() >= 1, "lstsq: the right side needs a dimension, got ", b);
  const Value right = precision.enter(b.rank() == 1 ? unsqueeze(b, 1) : b);
  require<ShapeError>(rows_of(left.shape()) == rows_of(right.shape()), "lstsq: ", a.shape(), " and the right side ",
                      b.shape(), " do not fit: ", rows_of(left.shape()), " and ", rows_of(right.shape()), " rows");
  const Value inverse = pseudo_inverse("lstsq", left, cutoff);
  // One step of refinement corrects the rounding of the inverse.
  const Value first = matmul(inverse, right);
  const Value x = precision.leave(first + matmul(inverse, right - matmul(left, first)));
  return b.rank() == 1 ? squeeze(x, -1) : x;
}

Value det(const Value& a) {
  const Precision precision("det", a);
  return precision.leave(emit(op::Det{}, {precision.enter(a)}));
}

SlogdetResult slogdet(const Value& a) {
  const Precision precision("slogdet", a);
  const Value inside = precision.enter(a);
  op::require_square("slogdet", inside);
  const LuFactors factors = lu_factor(inside);
  const Value pivots = diagonal(factors.packed), none = any(eq(pivots, 0), {-1});
  const Value size = sum(log(abs(where(unsqueeze(none, -1), 1.0, pivots))), {-1});
  const Value log_abs = where(none, -std::numeric_limits<double>::infinity(), size);
  return {precision.leave(factors.sign * prod(sign(pivots), {-1})),
          precision.leave(log_abs + op::zero_without_slope(sum(pivots, {-1}), none))};
}

Value matrix_rank(const Value& a, double cutoff, double absolute) {
  const Precision precision("matrix_rank", a);
  const Value inside = precision.enter(a);
  op::require_matrix("matrix_rank", inside);
  require<ArgumentError>(cutoff == kRounding || cutoff >= 0, "matrix_rank: the cutoff must not be negative, got ",
                         cutoff);
  require<ArgumentError>(absolute >= 0, "matrix_rank: the cutoff must not be negative, got ", absolute);
  if (inside.numel() == 0) return zeros(batch_of(a.shape()), a.device(), DType::I64);
  const Value values = svdvals(inside).detach();
  const Value relative = narrow(values, -1, 0, 1) * cutoff_of(cutoff, absolute, inside);
  return sum(gt(values, maximum(relative, absolute)), {-1});
}

Value cond(const Value& a, MatrixNorm norm) {
  const Precision precision("cond", a);
  const Value inside = precision.enter(a);
  op::require_square("cond", inside);
  const bool smallest = norm == MatrixNorm::MinusTwo;
  if (norm != MatrixNorm::Spectral && !smallest)
    return precision.leave(matrix_norm(inside, norm) * matrix_norm(inverse(inside), norm));
  const Value values = svdvals(inside);
  const std::int64_t count = values.dim(-1);
  require<ShapeError>(count > 0, "cond: ", a, " has no elements");
  const Value most = narrow(values, -1, 0, 1), least = narrow(values, -1, count - 1, 1), none = eq(most, 0);
  // A matrix of zeros is singular like others: its condition is infinite, or 0.
  return precision.leave(squeeze(smallest ? least / where(none, 1.0, most) : where(none, 1.0, most) / least, -1));
}

Value matrix_power(const Value& a, std::int64_t exponent) {
  op::require_tensor("matrix_power", a);
  require<ShapeError>(a.rank() >= 2 && a.dim(-1) == a.dim(-2), "matrix_power: needs square matrices, got ", a);
  // The magnitude of the least integer does not fit its type, so it is computed without a sign.
  auto left = static_cast<std::uint64_t>(exponent);
  Value base = a, result;
  if (exponent < 0) {
    left = 0 - left;
    base = inverse(a);
  }
  // The result reads no element of a, so that the gradient of a is 0.
  if (left == 0) return where(full({}, true, a.device(), DType::Bool), op::identity(a.dim(-1), a), a);
  for (;; base = matmul(base, base)) {
    if (left & 1u) result = result ? matmul(result, base) : base;
    left >>= 1;
    if (left == 0) return result;
  }
}

Value matrix_exp(const Value& a) {
  const Precision precision("matrix_exp", a);
  const Value inside = precision.enter(a);
  op::require_square("matrix_exp", inside);
  if (inside.numel() == 0) return precision.leave(inside);

  // Up to this norm the quotient and its derivative are exact up to rounding: for float64 Al-Mohy and Higham (2009),
  // table 6.1; for float32 Higham (2005), table 2.3 for half the digits.
  const double limit = precision.inside == DType::F64 ? 0.78 : 3;
  const TensorData norms = matrix_norm(inside.detach(), MatrixNorm::One).data();
  std::vector<double> scales;
  std::vector<int> squarings;
  int most = 0;
  for (const double norm : norms.to_vector<double>()) {
    const int count = std::isfinite(norm) && norm > limit ? static_cast<int>(std::ceil(std::log2(norm / limit))) : 0;
    squarings.push_back(count);
    scales.push_back(std::ldexp(1.0, -count));
    most = std::max(most, count);
  }
  const Shape each = batched(batch_of(inside.shape()), {1, 1});
  Value x = pade(inside * uploaded(each, scales, inside));
  for (int i = 0; i < most; ++i) {
    std::vector<double> active;
    for (const int count : squarings) active.push_back(i < count);
    const Value goes_on = uploaded(each, active, inside), bool_mask = gt(goes_on, 0);
    // Finished matrices are kept out of the product, whose overflow would reach their gradients.
    const Value part = where(bool_mask, x, 0);
    x = where(bool_mask, matmul(part, part), x);
  }
  return precision.leave(x);
}

}  // namespace kiln
