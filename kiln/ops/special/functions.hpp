// The functions of special.def for doubles. Relative errors are about 1e-15 away from zeros, and below 1e-13 unless
// documented otherwise. Formulas are those of the NIST Digital Library of Mathematical Functions (DLMF).
#pragma once
#include "kiln/ops/special/special_math.hpp"

namespace kiln::special {

// ---- normal.cpp: the normal distribution ---------------------------------------------------------------------------
/// exp(x^2) erfc(x); it overflows only where the result does.
double erfcx(double x);
/// The normal distribution function at x; its logarithm; and its inverse, for a probability between 0 and 1.
double ndtr(double x);
double log_ndtr(double x);
double ndtri(double share);

// ---- gamma.cpp -----------------------------------------------------------------------------------------------------
/// The regularised incomplete Gamma functions for a >= 0 and x >= 0: the integral of t^(a - 1) exp(-t) from 0 to x
/// (igamma) and from x on (igammac), divided by Gamma(a). NaN for negative numbers.
double igamma(double a, double x);
double igammac(double a, double x);
/// The regularised incomplete Beta function for a >= 0, b >= 0 and x between 0 and 1: the integral of t^(a - 1)
/// (1 - t)^(b - 1) from 0 to x, divided by B(a, b). NaN for other operands. 12 digits for a and b up to 1e8.
double betainc(double a, double b, double x);
/// Hurwitz's zeta function, the sum over k >= 0 of (q + k)^-s, for s > 1; infinite for s = 1, and where q is an integer
/// below 1; NaN for s < 1, and for other q below 0 unless s is an integer.
double zeta(double s, double q);

// ---- bessel.cpp ----------------------------------------------------------------------------------------------------
/// Functions of the first kind, for any x. Near their zeros the error is absolute: 1e-16.
double bessel_j0(double x);
double bessel_j1(double x);
/// Functions of the second kind, for x > 0: minus infinity at 0, NaN below.
double bessel_y0(double x);
double bessel_y1(double x);
/// The modified functions of the first kind times exp(-|x|).
double i0e(double x);
double i1e(double x);
/// The modified functions of the second kind, and these times exp(x): infinite at 0, NaN below.
double modified_bessel_k0(double x);
double modified_bessel_k1(double x);
double scaled_modified_bessel_k0(double x);
double scaled_modified_bessel_k1(double x);
/// sin(x) / x
double spherical_bessel_j0(double x);

// ---- polynomials.cpp: `degree` is truncated to an integer; 0 below 0, NaN above a million --------------------------
double chebyshev_t(double x, double degree);
double chebyshev_u(double x, double degree);
double chebyshev_v(double x, double degree);
double chebyshev_w(double x, double degree);
double hermite_h(double x, double degree);
double hermite_he(double x, double degree);
double legendre_p(double x, double degree);
double laguerre_l(double x, double degree);
double gegenbauer_c(double x, double degree, double lambda);
double generalized_laguerre_l(double x, double degree, double alpha);

// ---- numbers.cpp ---------------------------------------------------------------------------------------------------
/// x = mantissa * 2^exponent with a mantissa in [0.5, 1); 0 and numbers that are not finite are their own mantissa, of
/// exponent 0.
double frexp_mantissa(double x);
double frexp_exponent(double x);
/// The number next to x in the direction of y, in a float type with this many binary digits: 53, 24, 11 or 8.
double next_number(double x, double y, double digits);

}  // namespace kiln::special
