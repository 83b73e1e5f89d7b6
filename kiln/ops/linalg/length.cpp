#include "kiln/ops/linalg/length.hpp"

#include <algorithm>
#include <cmath>

#include "kiln/ops/elementwise/powers.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln {
namespace {

/// Exponents of two. Squares of elements below `high` and their sums are finite; squares of elements from `low` on keep
/// their digits; `down` and `up` scale elements outside this range into it.
struct Bounds {
  int high, low, down, up;
  int power;  // the range of powers that are computed
  int reciprocal;
};
constexpr Bounds kFloat{48, -48, -80, 80, 96, 125}, kDouble{480, -480, -600, 700, 900, 1020};

const Bounds& bounds_of(const Value& x) { return x.dtype() == DType::F64 ? kDouble : kFloat; }
double two_to(double power) { return std::exp2(power); }

}  // namespace

Value range_factor(const Value& x, const Dims& dims, double p) {
  const auto number = [&](double of) { return full({}, of, x.device(), x.dtype()); };
  if (x.numel() == 0 || x.dtype() == DType::F16) return number(1);
  const NoGrad pause;
  const Bounds& bounds = bounds_of(x);
  const Value most = max(abs(x.detach()), dims, true), one = number(1);
  if (p == 2)
    return where(ge(most, two_to(bounds.high)), number(two_to(bounds.down)),
                 where(lt(most, two_to(bounds.low)), number(two_to(bounds.up)), one));
  const double reach = two_to(std::min<double>(bounds.power / std::abs(p), 1000)), end = two_to(bounds.reciprocal);
  const Value far =
      logical_and(logical_and(is_finite(most), gt(most, 0)), logical_or(ge(most, reach), lt(most, 1 / reach)));
  return where(far, one / clamp(where(far, most, one), 1 / end, end), one);
}

ScaledIntoRange scale_into_range(const Value& x, const Dims& dims, double p) {
  const Value factor = range_factor(x, dims, p);
  return {x * factor, factor};
}

Value factor_beside(const Value& x, const Value& factor) {
  return factor.rank() == 0 || factor.rank() == x.rank() ? factor : reshape(factor, x.shape());
}
Value unscaled(const Value& x, const Value& factor) { return x / cast(factor_beside(x, factor), x.dtype()); }

Value root_of_variance(const Value& x, const Value& counted, const Dims& dims,
                       FunctionRef<Value(const Value&)> variance_of) {
  if (!is_float(x.dtype())) return sqrt_or_zero(variance_of(x));
  const Value factor = range_factor(counted, dims);
  return unscaled(sqrt_or_zero(variance_of(x * factor)), factor);
}

}  // namespace kiln
