#include "kiln/ops/linalg/spectrum_gradients.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/ops/linalg/linalg.hpp"
#include "kiln/ops/linalg/matrix.hpp"
#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/ops/view/diagonal.hpp"

namespace kiln::op {
namespace {

double epsilon_of(const Desc& a) {
  return a.dtype == DType::F64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
}

Value in_row(const Value& values) { return unsqueeze(values, -2); }
Value in_column(const Value& values) { return unsqueeze(values, -1); }
/// x_j - x_i in row i and column j.
Value differences(const Value& x) { return in_row(x) - in_column(x); }
Value sums(const Value& x) { return in_row(x) + in_column(x); }
/// The largest magnitude of each vector: [..., 1, 1].
Value largest_of(const Value& values) { return in_column(max(abs(values), {-1}, true)); }
Value beside_diagonal(const Value& like) {
  const std::int64_t k = like.dim(-1);
  return eq(diag_mask({k, k}, like.device()), false);
}
Value safely_divided(const Value& x, const Value& by, const Value& where_not) {
  return where(where_not, 0.0, x / where(where_not, 1.0, by));
}
Value both(const Value& a, const Value& b) { return where(a, b, false); }
/// The least difference by which slopes, the largest of which is `most`, are unlike: more than the rounding of equal
/// values changes them, and more than the rounding of 1, since all may be rounding errors.
Value least_told_apart(const Desc& a, const Value& most) {
  return std::sqrt(epsilon_of(a)) * most + spectrum_rounding(a);
}
Value exceeds(const Value& x, const Value& limit) {
  const Value size = abs(x);
  return where(gt(size, limit), true, eq(size, std::numeric_limits<double>::infinity()));
}
Value either(const Value& a, const Value& b) { return where(a, true, b); }

/// What the values tell about a function's second derivative h: h u for two directions u. If the function treats equal
/// values alike, h is, among these, a multiple of 1 plus a multiple of a matrix of ones, so that either direction
/// determines it.
class Second {
 public:
  Second(const Backward& backward, const Value& g, const Value& values, int slot) : values_(values) {
    const Value first = arange(1, values.dim(-1) + 1, 1, values.device());
    const Value u = cast(first, values.dtype());
    for (const Value& along : {u, square(u)}) {
      const Value direction = expand(along, values.shape());
      direction_.push_back(direction);
      product_.push_back(backward.slope(g, direction, slot).detach());
    }
  }

  /// The limit of a quotient, and whether it exists.
  struct Limit {
    Value value, exists;
  };
  /// The limit of (g_j - g_i) / (x_j - x_i) where x_i = x_j.
  Limit between(const Value& wanted) const {
    const auto of = [&](std::size_t k) {
      return safely_divided(differences(product_[k]), differences(direction_[k]), eq(wanted, false));
    };
    return agreed(of(0), of(1), in_column(scale()));
  }
  /// The tolerated distance of g from what the limits predict, for rounding of g and of the values.
  Value tolerance(const Value& g) const {
    const Desc type{values_.shape(), values_.dtype()};
    return 1e3 * epsilon_of(type) * (largest_of(g) + in_column(scale()) * largest_of(values_));
  }
  /// The limit of g_i / x_i where x_i = 0.
  Limit at_zero() const { return agreed(product_[0] / direction_[0], product_[1] / direction_[1], scale()); }

 private:
  Value scale() const { return max(abs(product_[0]), {-1}, true); }
  Limit agreed(const Value& x, const Value& y, const Value& scale) const {
    const double root = std::sqrt(epsilon_of({{}, values_.dtype()}));
    return {x, le(abs(x - y), 100 * root * (abs(x) + abs(y)) + root * scale)};
  }

  Value values_;
  Values direction_, product_;
};

/// Quotients of `difference` by `by`, or their limits where `close`. Where `equal` and no limit exists the quotient is
/// 0 and `lost` is true.
struct Quotients {
  Value values, lost;
};
Quotients quotients(const Value& difference, const Value& by, const Value& close, const Value& equal,
                    const Second::Limit& limit, const Value& tolerance) {
  const Value fits = both(limit.exists, le(abs(difference - limit.value * by), tolerance));
  const Value taken = both(close, fits), lost = both(equal, eq(fits, false));
  return {where(taken, limit.value, safely_divided(difference, by, either(equal, taken))), lost};
}

/// A 0 whose first derivative is 0 and whose second is NaN.
Value zero_up_to_first(const Value& zero) { return 0.0 * pow(zero, 1.5); }
/// A term that, added `where_at_all` to a gradient, ends its derivatives: it is right up to the first derivative or,
/// where `lost`, not even that far. `change` is 0 and represents a on the tape.
Value end_of_derivatives(const Value& change, const Value& where_at_all, const Value& lost) {
  const Value zero = in_column(in_column(sum(change, {-2, -1})));
  return zero_up_to_first(where(where_at_all, zero, 1.0)) + zero_without_slope(zero, lost);
}

}  // namespace

double spectrum_rounding(const Desc& a) {
  return epsilon_of(a) * (16 + static_cast<double>(std::max(rows_of(a.shape), columns_of(a.shape))));
}
double spectrum_closeness(const Desc& a) { return std::max(std::sqrt(epsilon_of(a)), spectrum_rounding(a)); }

Value equal_pairs(const Value& values, double tolerance) {
  return both(beside_diagonal(values), le(abs(differences(values)), tolerance * largest_of(values)));
}

Value any_in_matrix(const Value& conditions) { return any(conditions, {-2, -1}, true); }

Value nan_where(const Value& unequal, const Value& gradient) {
  return gradient * where(unequal, std::numeric_limits<double>::quiet_NaN(), 1.0);  // NaN in their gradients too
}

Value eigenvalue_gradient(const Backward& backward, const Value& g, const Value& w, const Value& v, int slot) {
  const Desc& a = backward.in_desc(0);
  const Value values = w.detach(), slopes = g.detach(), basis = v.detach();
  const Value regular = matmul(v * in_row(g), transpose(v));
  if (values.numel() == 0) return regular;

  const Value equal = equal_pairs(values, spectrum_rounding(a)), most = largest_of(slopes);
  const Value unequal = any_in_matrix(both(equal, exceeds(differences(slopes), least_told_apart(a, most))));
  const auto judged = [&, parts = backward.is_partial()](const Value& gradient) {
    return parts ? gradient : nan_where(unequal, gradient);  // the parts complete each other
  };
  if (!grad_enabled()) return judged(regular);

  const Value close = equal_pairs(values, spectrum_closeness(a)), several = any_in_matrix(close);
  if (any(several).item() == 0) return regular;
  backward.mark_partial();
  const Value place = backward.in_place_of(0, matmul(basis * in_row(values), transpose(basis)).detach());
  const Value change = place - place.detach();
  const Value turned = matmul(matmul(transpose(basis), change), basis);
  const Value difference = differences(slopes), by = differences(values);
  const Second second(backward, g, values, slot);
  const Quotients q = quotients(difference, by, close, either(equal, eq(beside_diagonal(values), false)),
                                second.between(close), second.tolerance(slopes));
  const Value lost = any_in_matrix(both(beside_diagonal(values), q.lost));
  const Value inner = diag_embed(g) + where(beside_diagonal(values), q.values.detach(), 0.0) * turned;
  const Value whole = matmul(matmul(basis, inner), transpose(basis)) + end_of_derivatives(change, several, lost);
  return judged(where(several, whole, regular));
}

Value singular_value_gradient(const Backward& backward, const Value& g, const Value& u, const Value& s, const Value& vt,
                              int slot) {
  const Desc& a = backward.in_desc(0);
  const std::int64_t rows = rows_of(a.shape), columns = columns_of(a.shape);
  const Value values = s.detach(), slopes = g.detach(), left = u.detach(), right = transpose(vt.detach());
  const Value regular = matmul(u * in_row(g), vt);
  if (values.numel() == 0) return regular;

  const double rounding = spectrum_rounding(a);
  const Value equal = equal_pairs(values, rounding), most = largest_of(slopes), largest = largest_of(values);
  const auto up_to = [&](double tolerance) { return le(in_row(values), tolerance * largest); };
  const Value unlike = both(equal, exceeds(differences(slopes), least_told_apart(a, most)));
  const Value kink = both(up_to(rounding), exceeds(in_row(slopes), least_told_apart(a, most)));
  const Value unequal = either(any_in_matrix(unlike), any_in_matrix(kink));
  const auto judged = [&, parts = backward.is_partial()](const Value& gradient) {
    return parts ? gradient : nan_where(unequal, gradient);  // the parts complete each other
  };
  if (!grad_enabled()) return judged(regular);

  const double near = spectrum_closeness(a);
  const Value close = equal_pairs(values, near), none = up_to(near);
  const Value several = either(any_in_matrix(close), any_in_matrix(none));
  if (any(several).item() == 0) return regular;
  backward.mark_partial();
  const Value place = backward.in_place_of(0, matmul(left * in_row(values), transpose(right)).detach());
  const Value change = place - place.detach();
  const Value from_left = matmul(transpose(left), change), from_right = matmul(change, right);
  const Value turned = matmul(from_left, right);
  const Value symmetric = 0.5 * (turned + transpose(turned)), skew = 0.5 * (turned - transpose(turned));

  const Second second(backward, g, values, slot);
  const Value tolerance = second.tolerance(slopes), beside = beside_diagonal(values);
  const Value diagonal = eq(beside, false);
  const Quotients minus = quotients(differences(slopes), differences(values), close, either(equal, diagonal),
                                    second.between(close), tolerance);
  const Second::Limit at_zero = second.at_zero();
  const auto in_pairs = [&](const Value& x) { return expand(in_row(x), symmetric.shape()); };
  // For two values that are nearly zero, (g_i + g_j) / (s_i + s_j) is between g_i / s_i and g_j / s_j.
  const Value pair_none = le(sums(values), near * largest), pair_zero = le(sums(values), rounding * largest);
  const Quotients plus = quotients(sums(slopes), sums(values), pair_none, pair_zero,
                                   {in_pairs(at_zero.value), in_pairs(at_zero.exists)}, tolerance);
  const Quotients alone = quotients(in_row(slopes), in_row(values), none, up_to(rounding),
                                    {in_row(at_zero.value), in_row(at_zero.exists)}, tolerance);
  const auto lost_pair = [&](const Quotients& q) { return any_in_matrix(both(beside, q.lost)); };
  Value lost = either(lost_pair(minus), lost_pair(plus));
  const Value inner = diag_embed(g) + where(beside, minus.values.detach(), 0.0) * symmetric +
                      where(beside, plus.values.detach(), 0.0) * skew;
  Value whole = matmul(matmul(left, inner), transpose(right));
  // The part that leaves the spaces that the vectors span.
  const Value each = alone.values.detach();
  if (rows > columns) whole = whole + matmul((from_right - matmul(left, turned)) * each, transpose(right));
  if (columns > rows) whole = whole + matmul(left, transpose(each) * (from_left - matmul(turned, transpose(right))));
  if (rows != columns) lost = either(lost, any_in_matrix(alone.lost));
  whole = whole + end_of_derivatives(change, several, lost);
  return judged(where(several, whole, regular));
}

}  // namespace kiln::op
