#include "kiln/ops/special/special.hpp"

#include <limits>

#include "kiln/ops/elementwise/precision.hpp"

namespace kiln {

Value entr(const Value& x) { return where(lt(x, 0), -std::numeric_limits<double>::infinity(), neg(xlogy(x, x))); }
Value xlog1py(const Value& x, const Value& y) {
  // The product is not looked at where it is 0 times infinity, nor is its gradient.
  const Value none = logical_and(eq(x, 0), logical_not(is_nan(y)));
  return where(none, 0.0, x * log1p(where(none, 0.0, y)));
}
Value logaddexp2(const Value& any, const Value& other) {
  const Value x = as_float(any), y = as_float(other);
  // Of equal infinities the difference is 0, not NaN.
  const Value distance = abs(where(eq(x, y), 0.0, x - y));
  return maximum(x, y) + log1p(exp2(neg(distance))) * 1.4426950408889634;
}
Value mvlgamma(const Value& x, std::int64_t p) {
  require<ArgumentError>(p >= 1 && p <= 1000, "mvlgamma: ", p, " dimensions are not 1 to 1000");
  Value total = static_cast<double>(p * (p - 1)) * 0.2861824714623501;  // log(pi) / 4
  for (std::int64_t j = 0; j < p; ++j) total = total + lgamma(x - static_cast<double>(j) / 2);
  return total;
}

Value shifted_chebyshev_t(const Value& x, const Value& degree) { return chebyshev_t(x * 2 - 1, degree); }
Value shifted_chebyshev_u(const Value& x, const Value& degree) { return chebyshev_u(x * 2 - 1, degree); }
Value shifted_chebyshev_v(const Value& x, const Value& degree) { return chebyshev_v(x * 2 - 1, degree); }
Value shifted_chebyshev_w(const Value& x, const Value& degree) { return chebyshev_w(x * 2 - 1, degree); }

Frexp frexp(const Value& x) { return {frexp_mantissa(x), cast(frexp_exponent(x), DType::I32)}; }
Value ldexp(const Value& x, const Value& exponent) { return x * exp2(exponent); }
Value nextafter(const Value& x, const Value& y) {
  DType dtype = x.is_scalar() && y.is_scalar() ? DType::F64
                : x.is_scalar()                ? promote_scalar(y.dtype(), x.scalar().kind())
                : y.is_scalar()                ? promote_scalar(x.dtype(), y.scalar().kind())
                                               : promote(x.dtype(), y.dtype());
  const int digits = dtype == DType::F64 ? 53 : dtype == DType::F16 ? 11 : dtype == DType::BF16 ? 8 : 24;
  return next_number(x, y, digits);
}

}  // namespace kiln
