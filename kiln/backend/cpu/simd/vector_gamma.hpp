// Gamma, digamma and related functions, and modified Bessel functions, by the algorithms of
// ops/special/special_math.hpp in vectors of doubles. Included once per target.
#if defined(KILN_SIMD_VECTOR_GAMMA_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_SIMD_VECTOR_GAMMA_HPP
#undef KILN_SIMD_VECTOR_GAMMA_HPP
#else
#define KILN_SIMD_VECTOR_GAMMA_HPP
#endif

#include "kiln/backend/cpu/simd/vector_math.hpp"
#include "kiln/ops/special/special_math.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

using Doubles = Vector<double>;
inline constexpr double kPi = 3.141592653589793;

/// The vector form of special::lgamma_near_one.
HWY_INLINE Doubles lgamma_near_one(Doubles d) {
  const Doubles below = polynomial((d + 0.125) * (1 / 0.375), special::kLgammaBelow),
                above = polynomial((d - 0.625) * (1 / 0.375), special::kLgammaAbove);
  return d * (d - 1) * select(d < 0.25, below, above);
}

/// lgamma for finite x > 0.
HWY_INLINE Doubles lgamma_above_zero(Doubles x) {
  const Mask<double> far = x >= 10, small = x < 0.5;
  Doubles y = x, product = 1;
  for (Mask<double> large = (y > 2) & !far; any(large); large = (y > 2) & !far) {
    y = select(large, y - 1, y);
    product = select(large, product * y, product);
  }
  const Doubles log_of = log(select(small | far, x, product));
  const Doubles near = lgamma_near_one(select(small, x, y - 1)) + select(small, -log_of, log_of);
  if (!any(far)) return near;
  const Doubles tail = polynomial(1 / (x * x), special::kStirling) / x;
  return select(far, (x - 0.5) * log_of - x + 0.9189385332046727 + tail, near);
}
template <class T>
HWY_INLINE Vector<T> lgamma(Vector<T> x) {
  Vector<T> y;
  if constexpr (kSingle<T>) y = in_double([](auto v) HWY_ATTR { return lgamma_above_zero(v); }, x);
  else y = lgamma_above_zero(x);
  return within(is_finite(x) & (x > 0), y, [&]() HWY_ATTR { return lgamma_lanes(x); });
}

/// digamma for finite x > 0.
HWY_INLINE Doubles digamma_above_zero(Doubles x) {
  const Mask<double> far = x >= 10, small = x < 1;
  Doubles sum = select(small, -1 / x, Doubles(0)), y = select(small, x + 1, x);
  for (Mask<double> large = (y > 2) & !far; any(large); large = (y > 2) & !far) {
    y = select(large, y - 1, y);
    sum = select(large, sum + 1 / y, sum);
  }
  const Doubles fit = polynomial(2 * y - 3, special::kDigamma);
  const Doubles near = fit * ((y - special::kDigammaZero) - special::kDigammaZeroRest) + sum;
  if (!any(far)) return near;
  const Doubles s = 1 / (x * x);
  return select(far, log(x) - 0.5 / x - polynomial(s, special::kDigammaTail) * s, near);
}
/// digamma for finite x other than 0.
HWY_INLINE Doubles digamma_of(Doubles x) {
  const Mask<double> negative = x < 0;
  const Doubles above = digamma_above_zero(select(negative, 1 - x, x));
  if (!any(negative)) return above;
  const Doubles rest = x - round(x);
  const Doubles reflected = above - kPi / tan(rest * kPi);
  return select(negative, select(rest == 0, Doubles(kNotANumber), reflected), above);
}
template <class T>
HWY_INLINE Vector<T> digamma(Vector<T> x) {
  Vector<T> y;
  if constexpr (kSingle<T>) y = in_double([](auto v) HWY_ATTR { return digamma_of(v); }, x);
  else y = digamma_of(x);
  return within(is_finite(x) & (x != 0), y, [&]() HWY_ATTR { return digamma_lanes(x); });
}

/// The derivative of digamma for finite x > 0: recurrence and, from 10 on, the asymptotic series (Abramowitz and
/// Stegun, 6.4.6 and 6.4.12), whose coefficients are Bernoulli's numbers.
HWY_INLINE Doubles trigamma_above_zero(Doubles x) {
  static constexpr double kBernoulli[] = {-3617.0 / 510, 7.0 / 6,  -691.0 / 2730, 5.0 / 66,
                                          -1.0 / 30,     1.0 / 42, -1.0 / 30,     1.0 / 6};
  Doubles sum = 0;
  for (Mask<double> near = x < 10; any(near); near = x < 10) {
    sum = select(near, sum + 1 / (x * x), sum);
    x = select(near, x + 1, x);
  }
  const Doubles inverse = 1 / x, s = inverse * inverse;
  return fma(s, fma(polynomial(s, kBernoulli), inverse, 0.5), inverse) + sum;
}
/// trigamma for finite x other than the integers up to 0.
HWY_INLINE Doubles trigamma_of(Doubles x) {
  const Mask<double> negative = x < 0;
  const Doubles above = trigamma_above_zero(select(negative, 1 - x, x));
  if (!any(negative)) return above;
  const Doubles share = kPi / sin((x - round(x)) * kPi);
  return select(negative, share * share - above, above);
}
/// Computes lanes of order 1 as a vector, and lanes of other orders one by one.
template <class T>
HWY_INLINE Vector<T> polygamma(Vector<T> order, Vector<T> x) {
  const Mask<T> inside = (order == 1) & is_finite(x) & ((x > 0) | (x != round(x)));
  const Vector<T> bounded = select(inside, x, Vector<T>(1));
  Vector<T> y;
  if constexpr (kSingle<T>) y = in_double([](auto v) HWY_ATTR { return trigamma_of(v); }, bounded);
  else y = trigamma_of(bounded);
  return within(inside, y, [&]() HWY_ATTR { return polygamma_lanes(order, x); });
}

/// The power series of I(order, x), for |x| < 20. The loop ends when the terms of all lanes are negligible; until then
/// negligible terms are added to the other lanes, which does not change their sums.
template <int kOrder>
HWY_INLINE Doubles bessel_series(Doubles x) {
  const Doubles quarter = x * x * 0.25;
  Doubles sum = 1, term = 1;
  for (int k = 1; any(term > sum * 1e-18); ++k) {
    term = term * quarter * (1.0 / (static_cast<double>(k) * (k + kOrder)));
    sum = sum + term;
  }
  return kOrder == 0 ? sum : sum * x * 0.5;
}
template <int kOrder, class T, class Slow>
HWY_INLINE Vector<T> bessel_i(Vector<T> x, Slow slow) {
  const Mask<T> inside = abs(x) < 20;
  const Vector<T> bounded = select(inside, x, Vector<T>(0));
  Vector<T> y;
  if constexpr (kSingle<T>) y = in_double([](auto v) HWY_ATTR { return bessel_series<kOrder>(v); }, bounded);
  else y = bessel_series<kOrder>(bounded);
  return within(inside, y, slow);
}
template <class T> HWY_INLINE Vector<T> i0(Vector<T> x) {
  return bessel_i<0>(x, [&]() HWY_ATTR { return i0_lanes(x); });
}
template <class T> HWY_INLINE Vector<T> i1(Vector<T> x) {
  return bessel_i<1>(x, [&]() HWY_ATTR { return i1_lanes(x); });
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
