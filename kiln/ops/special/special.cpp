#include "kiln/ops/special/special.hpp"

#include <limits>

#include "kiln/ops/elementwise/precision.hpp"

namespace kiln {
namespace {

Value in_double(const Value& x) { return x.is_scalar() ? Value(x.scalar().to<double>()) : cast(x, DType::F64); }

/// The polynomial at 2 x - 1, computed in float64, which holds it without rounding for smaller types.
Value shifted(Value (*polynomial)(const Value&, const Value&), const Value& x, const Value& degree) {
  const op::Steps steps{x, degree};
  return steps.leave(polynomial(in_double(x) * 2 - 1, in_double(degree)));
}

}  // namespace

Value entr(const Value& x) { return where(lt(x, 0), -std::numeric_limits<double>::infinity(), neg(xlogy(x, x))); }
Value xlog1py(const Value& any, const Value& other) {
  const op::Steps steps{any, other};
  const Value x = steps.enter(any), y = steps.enter(other);
  // Where the product is 0 times infinity, it must reach neither the result nor a gradient.
  const Value none = logical_and(eq(x, 0), logical_not(is_nan(y)));
  return steps.leave(where(none, 0.0, x * log1p(where(none, 0.0, y))));
}
Value logaddexp2(const Value& any, const Value& other) {
  const op::Steps steps{any, other};
  const Value x = steps.enter(any), y = steps.enter(other);
  // For equal infinities the distance is 0, not NaN.
  const Value distance = abs(where(eq(x, y), 0.0, x - y));
  return steps.leave(maximum(x, y) + log1p(exp2(neg(distance))) * 1.4426950408889634);
}
Value mvlgamma(const Value& any, std::int64_t p) {
  require<ArgumentError>(p >= 1 && p <= 1000, "mvlgamma: ", p, " dimensions are not 1 to 1000");
  const op::Steps steps{any};
  const Value x = steps.enter(any);
  Value total = static_cast<double>(p * (p - 1)) * 0.2861824714623501;  // log(pi) / 4
  for (std::int64_t j = 0; j < p; ++j) total = total + lgamma(x - static_cast<double>(j) / 2);
  return steps.leave(total);
}

Value shifted_chebyshev_t(const Value& x, const Value& degree) { return shifted(chebyshev_t, x, degree); }
Value shifted_chebyshev_u(const Value& x, const Value& degree) { return shifted(chebyshev_u, x, degree); }
Value shifted_chebyshev_v(const Value& x, const Value& degree) { return shifted(chebyshev_v, x, degree); }
Value shifted_chebyshev_w(const Value& x, const Value& degree) { return shifted(chebyshev_w, x, degree); }

Frexp frexp(const Value& x) { return {frexp_mantissa(x), cast(frexp_exponent(x), DType::I32)}; }
Value ldexp(const Value& x, const Value& exponent) {
  const op::Steps steps{x, exponent};
  const Value number = in_double(x), power = clamp(in_double(exponent), -5000, 5000);  // no type reaches that far
  if (steps.inside() != DType::F64) return steps.leave(number * exp2(clamp(power, -1000, 1000)));
  // The mantissa and two factors, the first of which stays within range, so that the result is rounded once.
  const Value special = logical_or(logical_not(is_finite(number)), eq(number, 0));
  const Value total = power + where(special, 0.0, frexp_exponent(number)), first = clamp(total, -1000, 1000);
  const Value mantissa = where(special, number, frexp_mantissa(where(special, 1.0, number)));
  return steps.leave(mantissa * exp2(first) * exp2(total - first));
}
Value nextafter(const Value& x, const Value& y) {
  DType dtype = x.is_scalar() && y.is_scalar() ? DType::F64
                : x.is_scalar()                ? promote_scalar(y.dtype(), x.scalar().kind())
                : y.is_scalar()                ? promote_scalar(x.dtype(), y.scalar().kind())
                                               : promote(x.dtype(), y.dtype());
  const int digits = dtype == DType::F64 ? 53 : dtype == DType::F16 ? 11 : dtype == DType::BF16 ? 8 : 24;
  return next_number(x, y, digits);
}

}  // namespace kiln
