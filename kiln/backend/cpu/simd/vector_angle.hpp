// The angle of a point. Included once per target.
#if defined(KILN_SIMD_VECTOR_ANGLE_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_SIMD_VECTOR_ANGLE_HPP
#undef KILN_SIMD_VECTOR_ANGLE_HPP
#else
#define KILN_SIMD_VECTOR_ANGLE_HPP
#endif

#include "kiln/backend/cpu/simd/vector_exp.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

/// p(t^2) in atan(t) = t + t^3 p(t^2) for |t| <= tan(pi / 8), from Chebyshev points: relative errors of 2e-9 and 4e-18.
HWY_INLINE Vector<float> atan_tail(Vector<float> s) {
  Vector<float> p = fma(s, 0.03295499086380005f, -0.06027206405997276f);
  p = fma(p, s, 0.07604777812957764f);
  p = fma(p, s, -0.09084099531173706f);
  p = fma(p, s, 0.11110819876194f);
  p = fma(p, s, -0.14285707473754883f);
  p = fma(p, s, 0.20000000298023224f);
  return fma(p, s, -0.3333333432674408f);
}
HWY_INLINE Vector<double> atan_tail(Vector<double> s) {
  constexpr double kRest[] = {
      0.019650707613345027, -0.028520227182081515, 0.03354999055977601,  -0.03686674345672791, 0.03997684693749645,
      -0.04347589568190751, 0.047618865850266846,  -0.05263156850030917, 0.05882352896877042,  -0.06666666665311873,
      0.07692307692278835,  -0.09090909090908685,  0.11111111111111108,  -0.14285714285714285, 0.2,
      -0.3333333333333333};
  Vector<double> p = -0.007786460285907489;
  for (const double next : kRest) p = fma(p, s, next);
  return p;
}

/// The limits within which quotients lose no digits to underflow or overflow on the way.
template <class T> inline constexpr T kLeastSide = kSingle<T> ? 1e-30f : 1e-270;
template <class T> inline constexpr T kLargestSide = kSingle<T> ? 1e37f : 1e300;
template <class T> inline constexpr T kLeastSlope = kSingle<T> ? 0x1p-100f : 0x1p-800;
template <class T>
HWY_INLINE Mask<T> has_plain_angle(Vector<T> y, Vector<T> x) {
  const Vector<T> a = hn::Abs(y.lanes), b = hn::Abs(x.lanes), least = hn::Min(a.lanes, b.lanes);
  const Vector<T> most = hn::Max(a.lanes, b.lanes);
  return (most <= kLargestSide<T>)&(most >= kLeastSide<T>)&(
             (least == 0) | ((least >= kLeastSide<T>)&(least >= most * kLeastSlope<T>))) &
         (a == a) & (b == b);
}

/// The angle of (x, y), with an error of 0.6 ULP. The smaller side divided by the larger one is the tangent of an angle
/// up to pi / 4. That angle is atan(t) or pi / 4 + atan(t) for a |t| up to tan(pi / 8), and differs from the wanted one
/// by its sign and a multiple of pi / 4. The rounding error of the quotient and the low digits of pi are added to the
/// smaller terms.
template <class T>
HWY_INLINE Vector<T> plain_angle(Vector<T> y, Vector<T> x) {
  constexpr T kEighth = kSingle<T> ? T(0.7853981852531433) : T(0.7853981633974483);  // pi / 4, rounded
  constexpr T kEighthRest = kSingle<T> ? T(-2.1855694143368964e-08) : T(3.061616997868383e-17);
  const Vector<T> a = hn::Abs(y.lanes), b = hn::Abs(x.lanes);
  const Mask<T> steep = a > b, left = x < 0;
  const Vector<T> least = select(steep, b, a), most = select(steep, a, b);
  const Mask<T> reduced = least > most * T(0.41421356237309503);
  const Vector<T> sum = most + least, sum_rest = least - (sum - most);
  const Vector<T> above = select(reduced, least - most, least), below = select(reduced, sum, most);
  // The difference is rounded too where less than half of `most` is left.
  const Vector<T> above_rest = select(reduced, (least - (above + most)), Vector<T>(0));
  const Vector<T> inverse = 1 / below, t = above * inverse;
  const Vector<T> below_rest = select(reduced, sum_rest, Vector<T>(0));
  const Vector<T> left_over = fma(-t, below, above) + fma(-t, below_rest, above_rest);
  const Vector<T> s = t * t, t_rest = left_over * inverse;
  const Vector<T> rest = fma(t * s, atan_tail(s), fma(-s, t_rest, t_rest));

  const Vector<T> base = select(reduced, Vector<T>(1), Vector<T>(0));
  const Vector<T> of_right = select(steep, 2 - base, base), eighths = select(left, 4 - of_right, of_right);
  const Mask<T> backwards = steep ^ left;
  const Vector<T> signed_t = select(backwards, -t, t), signed_rest = select(backwards, -rest, rest);
  const Vector<T> turn = eighths * kEighth, turn_rest = fma(eighths, kEighth, -turn) + eighths * kEighthRest;
  const Vector<T> angle = turn + signed_t, angle_rest = signed_t - (angle - turn);
  return hn::CopySign((angle + (angle_rest + (signed_rest + turn_rest))).lanes, y.lanes);
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
