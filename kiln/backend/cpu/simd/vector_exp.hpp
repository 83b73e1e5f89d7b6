// The exponential function and its parts. Included once per target.
#if defined(KILN_SIMD_VECTOR_EXP_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_SIMD_VECTOR_EXP_HPP
#undef KILN_SIMD_VECTOR_EXP_HPP
#else
#define KILN_SIMD_VECTOR_EXP_HPP
#endif

#include <cstdint>

#include "kiln/backend/cpu/simd/vector.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

template <class T> inline constexpr bool kSingle = sizeof(T) == 4;

/// The integer nearest to x, for |x| below 2^22 (float) or 2^51 (double).
template <class T>
HWY_INLINE Vector<T> nearest(Vector<T> x) {
  constexpr T kBeyondFractions = kSingle<T> ? 0x1.8p23 : 0x1.8p52;
  return (x + kBeyondFractions) - kBeyondFractions;
}

/// 2^n for an integral n in the range of normal exponents.
template <class T>
HWY_INLINE Vector<T> power_of_two(Vector<T> n) {
  const hn::ScalableTag<T> tag;
  const hn::RebindToSigned<decltype(tag)> words;
  constexpr int bits = kSingle<T> ? 23 : 52;
  // n + bias + 2^bits has n + bias in its low mantissa bits, whatever n's sign.
  const Vector<T> biased = n + static_cast<T>((std::int64_t{1} << bits) + (kSingle<T> ? 127 : 1023));
  return hn::BitCast(tag, hn::ShiftLeft<bits>(hn::BitCast(words, biased.lanes)));
}

/// x * 2^n for an integral n, rounded once where the result is subnormal, and infinite where it is too large.
template <class T>
HWY_INLINE Vector<T> scale(Vector<T> x, Vector<T> n) {
  const Vector<T> half = hn::Floor((n * 0.5).lanes);
  return x * power_of_two(half) * power_of_two(n - half);
}
#if HWY_TARGET == HWY_AVX3
template <>
HWY_INLINE Vector<float> scale(Vector<float> x, Vector<float> n) {
  return hn::Vec<hn::ScalableTag<float>>{_mm512_scalef_ps(x.lanes.raw, n.lanes.raw)};
}
template <>
HWY_INLINE Vector<double> scale(Vector<double> x, Vector<double> n) {
  return hn::Vec<hn::ScalableTag<double>>{_mm512_scalef_pd(x.lanes.raw, n.lanes.raw)};
}
#endif

/// (e^r - 1 - r) / r^2 for |r| <= log(2) / 2: a minimax fit for float and a Chebyshev fit for double, which leave
/// relative errors of 4e-10 and 1e-18 in e^r.
template <class T>
HWY_INLINE Vector<T> exp_tail(Vector<T> r) {
  Vector<T> p;
  if constexpr (kSingle<T>) {
    p = fma(r, 0.00139507258657, 0.00836902488713);
    p = fma(p, r, 0.0416662022864);
    p = fma(p, r, 0.166665177114);
    return fma(p, r, 0.500000009628);
  } else {
    p = fma(r, 2.09147553258932022e-9, 2.5105312729622101787e-8);
    p = fma(p, r, 2.7557273478718580474e-7);
    p = fma(p, r, 2.7557255170000887438e-6);
    p = fma(p, r, 0.0000248015873256774619);
    p = fma(p, r, 0.00019841269875002278793);
    p = fma(p, r, 0.0013888888888883711167);
    p = fma(p, r, 0.0083333333333260831202);
    p = fma(p, r, 0.041666666666666669783);
    p = fma(p, r, 0.1666666666666667103);
    return fma(p, r, 0.5);
  }
}
/// e^r for |r| <= log(2) / 2.
template <class T>
HWY_INLINE Vector<T> exp_near_zero(Vector<T> r) {
  if constexpr (kSingle<T>) return fma(fma(exp_tail(r), r, 1), r, 1);
  else return fma(r * r, exp_tail(r), r) + 1;
}

/// The parts of x = n * log(2) + r, for |x| below a million.
template <class T>
struct ExpParts {
  Vector<T> n, r;
  explicit HWY_INLINE ExpParts(Vector<T> x) : n(nearest(x * 1.4426950408889634)) {
    r = fma(n, kSingle<T> ? -0.693359375 : -0.693145751953125, x);
    r = fma(n, kSingle<T> ? 2.1219444005469057e-4 : -1.42860682030941723212e-6, r);
  }
  HWY_INLINE Vector<T> expm1_of_rest() const { return fma(r * r, exp_tail(r), r); }
};

/// The exponential. Results below the subnormals become 0 without being computed: processors take a hundred times as
/// long for an underflow, and each element that an attention mask hides would be one.
template <class T>
HWY_INLINE Vector<T> exp(Vector<T> x) {
  const auto vanishes = x < Vector<T>(kSingle<T> ? -104 : -746);
  const ExpParts<T> parts(select(vanishes, Vector<T>(0), at_most(x, kSingle<T> ? 90 : 711)));
  return select(vanishes, Vector<T>(0), scale(exp_near_zero(parts.r), parts.n));
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
