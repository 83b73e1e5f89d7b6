// erf, erfc and erfinv of doubles, by rational functions. Included once per target.
#if defined(KILN_SIMD_VECTOR_NORMAL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_SIMD_VECTOR_NORMAL_HPP
#undef KILN_SIMD_VECTOR_NORMAL_HPP
#else
#define KILN_SIMD_VECTOR_NORMAL_HPP
#endif

#include <hwy/contrib/math/math-inl.h>

#include <limits>

#include "kiln/backend/cpu/simd/vector_exp.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

/// c[0] x^(N - 1) + ... + c[N - 1]
template <std::size_t N>
HWY_INLINE Vector<double> polynomial(Vector<double> x, const double (&c)[N]) {
  Vector<double> sum = c[0];
  for (std::size_t i = 1; i < N; ++i) sum = fma(sum, x, c[i]);
  return sum;
}
template <std::size_t N>
HWY_INLINE Vector<double> ratio(Vector<double> x, const double (&above)[N], const double (&below)[N]) {
  return polynomial(x, above) / polynomial(x, below);
}

// The coefficients of W. J. Cody, "Rational Chebyshev approximations for the error function", 1969.
inline constexpr double kErfReach = 0.46875;  // where the form of erf near 0 ends
inline constexpr double kErfAbove[] = {1.85777706184603153e-1, 3.16112374387056560, 1.13864154151050156e2,
                                       3.77485237685302021e2, 3.20937758913846947e3};
inline constexpr double kErfBelow[] = {1, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3,
                                       2.84423683343917062e3};
HWY_INLINE Vector<double> erf_near_zero(Vector<double> x) { return x * ratio(x * x, kErfAbove, kErfBelow); }
inline constexpr double kErfcMiddleAbove[] = {2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594,
                                              6.61191906371416295e1,  2.98635138197400131e2,  8.81952221241769090e2,
                                              1.71204761263407058e3,  2.05107837782607147e3,  1.23033935479799725e3};
inline constexpr double kErfcMiddleBelow[] = {1,
                                              1.57449261107098347e1,
                                              1.17693950891312499e2,
                                              5.37181101862009858e2,
                                              1.62138957456669019e3,
                                              3.29079923573345963e3,
                                              4.36261909014324716e3,
                                              3.43936767414372164e3,
                                              1.23033935480374942e3};
/// exp(-y^2), for which y^2 rounded to double precision has too few digits.
HWY_INLINE Vector<double> bell(Vector<double> y) {
  if constexpr (HWY_NATIVE_FMA) {
    const Vector<double> square = y * y, rest = fma(y, y, -square), power = exp(-square);
    return fma(-rest, power, power);
  } else {  // the square of the first bits is exact
    const Vector<double> head = Vector<double>(hn::Trunc((y * 16).lanes)) * 0.0625;
    return exp(-(head * head)) * exp((head - y) * (y + head));
  }
}
/// erfc(y) for y >= kErfReach.
HWY_INLINE Vector<double> erfc_beyond(Vector<double> y) {
  static constexpr double kFarAbove[] = {1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1,
                                         1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4};
  static constexpr double kFarBelow[] = {1,
                                         2.56852019228982242,
                                         1.87295284992346725,
                                         5.27905102951428412e-1,
                                         6.05183413124413191e-2,
                                         2.33520497626869185e-3};
  y = at_most(y, 28);  // where erfc is 0
  Vector<double> above = polynomial(y, kErfcMiddleAbove), below = polynomial(y, kErfcMiddleBelow);
  if (const Mask<double> far = y > 4; any(far)) {
    const Vector<double> s = 1 / (y * y), q = polynomial(s, kFarBelow);
    above = select(far, fma(-s, polynomial(s, kFarAbove), 0.56418958354775628695 * q), above);
    below = select(far, y * q, below);
  }
  return bell(y) * (above / below);
}

/// Away from 0 this is 1 - erfc(|x|), where most digits of the result come from the 1.
HWY_INLINE Vector<double> erf(Vector<double> x) {
  const Vector<double> size = at_most(Vector<double>(hn::Abs(x.lanes)), 6), s = x * x;
  const Mask<double> near = size < kErfReach;
  const Vector<double> above = select(near, size * polynomial(s, kErfAbove), polynomial(size, kErfcMiddleAbove));
  const Vector<double> below = select(near, polynomial(s, kErfBelow), polynomial(size, kErfcMiddleBelow));
  const Vector<double> share = above / below, y = select(near, share, fma(-exp(-(size * size)), share, 1));
  return hn::CopySign(y.lanes, x.lanes);
}
HWY_INLINE Vector<double> erfc(Vector<double> x) {
  const Vector<double> size = hn::Abs(x.lanes), tail = erfc_beyond(size);
  return select(size < kErfReach, 1 - erf_near_zero(x), select(x < 0, 2 - tail, tail));
}

/// Computes erfinv from the percentage points of the normal distribution: M. J. Wichura, "Algorithm AS 241", 1988.
HWY_INLINE Vector<double> erfinv(Vector<double> x) {
  static constexpr double kMiddleAbove[] = {2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4,
                                            4.5921953931549871457e4, 1.3731693765509461125e4, 1.9715909503065514427e3,
                                            1.3314166789178437745e2, 3.3871328727963666080};
  static constexpr double kMiddleBelow[] = {
      5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
      5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1};
  static constexpr double kNearAbove[] = {
      7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258,
      3.64784832476320460504,    5.76949722146069140550,    4.63033784615654529590,    1.42343711074968357734};
  static constexpr double kNearBelow[] = {
      1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
      6.89767334985100004550e-1, 1.67638483018380384940,    2.05319162663775882187,    1};
  static constexpr double kEndAbove[] = {
      2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
      2.96560571828504891230e-1, 1.78482653991729133580,    5.46378491116411436990,    6.65790464350110377720};
  static constexpr double kEndBelow[] = {
      2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
      1.48753612908506148525e-2,  1.36929880922735805310e-1, 5.99832206555887937690e-1, 1};
  constexpr double kRootHalf = 0.70710678118654752440, kInfinity = std::numeric_limits<double>::infinity();
  const hn::ScalableTag<double> tag;
  const Vector<double> size = hn::Abs(x.lanes), middle = fma(size * -0.25, size, 0.180625);
  Vector<double> y = size * (0.5 * kRootHalf) * ratio(middle, kMiddleAbove, kMiddleBelow);
  if (any(size > 0.85)) {
    // The difference 1 - size is exact.
    const Vector<double> share = select(size < 1, (1 - size) * 0.5, Vector<double>(0.5));
    const Vector<double> depth = hn::Sqrt(hn::Neg(hn::Log(tag, share.lanes)));
    const Vector<double> outer =
        select(depth <= 5, ratio(depth - 1.6, kNearAbove, kNearBelow), ratio(depth - 5, kEndAbove, kEndBelow)) *
        kRootHalf;
    y = select(size > 0.85, outer, y);
    y = select(size == 1, Vector<double>(kInfinity), select(size > 1, Vector<double>(0) / Vector<double>(0), y));
  }
  return hn::CopySign(y.lanes, x.lanes);
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
