// Less common special functions: of the normal distribution, Gamma functions, Bessel functions, orthogonal polynomials.
// Names and meanings are those of torch.special; docs/numbers.md describes poles, NaN and negative numbers. All are
// computed in float64 and rounded once, so that float32 results have a correct last digit; operands broadcast and
// promote, and integers are taken as float32.
//
// The more common functions of one number are rows of elementwise.def: erf, erfinv, lgamma, digamma, i0, ...
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

// One function for each row of special.def; special/functions.hpp defines them.
#define KILN_SPECIAL_OF_1(Name, function, ...) Value function(const Value& x);
#define KILN_SPECIAL_OF_2(Name, function, ...) Value function(const Value& x, const Value& y);
#define KILN_SPECIAL_OF_3(Name, function, ...) Value function(const Value& x, const Value& y, const Value& w);
#include "kiln/ops/special/special.def"

/// The largest integer that divides both, and the smallest that both divide; never negative unless the type cannot hold
/// the positive value. Where y is 0 the first is |x|, the second 0. Throws DTypeError for anything but integers.
Value gcd(const Value& x, const Value& y);
Value lcm(const Value& x, const Value& y);

// ---- composed of others --------------------------------------------------------------------------------------------
/// -x log(x): 0 at 0, minus infinity below.
Value entr(const Value& x);
/// x log(1 + y), and 0 where x is 0, for any y except NaN.
Value xlog1py(const Value& x, const Value& y);
/// log2(2^x + 2^y), without overflow.
Value logaddexp2(const Value& x, const Value& y);
/// The logarithm of the multivariate Gamma function of dimension `p`, for x > (p - 1) / 2:
/// p (p - 1) / 4 log(pi) + sum over j < p of lgamma(x - j / 2).
Value mvlgamma(const Value& x, std::int64_t p);

/// Chebyshev polynomials of 2 x - 1, which are orthogonal between 0 and 1; 2 x - 1 is not rounded to x's type.
Value shifted_chebyshev_t(const Value& x, const Value& degree);
Value shifted_chebyshev_u(const Value& x, const Value& degree);
Value shifted_chebyshev_v(const Value& x, const Value& degree);
Value shifted_chebyshev_w(const Value& x, const Value& degree);

/// x = mantissa * 2^exponent with |mantissa| in [0.5, 1) and an int32 exponent; 0 and numbers that are not finite are
/// their own mantissa, of exponent 0.
struct Frexp {
  Value mantissa, exponent;
};
Frexp frexp(const Value& x);
/// x * 2^exponent in the type that both promote to; only the result can overflow.
Value ldexp(const Value& x, const Value& exponent);
/// The number of x's type next to x in the direction of y.
Value nextafter(const Value& x, const Value& y);

}  // namespace kiln
