// Powers of doubles. Included once per target.
#if defined(KILN_SIMD_VECTOR_POWER_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_SIMD_VECTOR_POWER_HPP
#undef KILN_SIMD_VECTOR_POWER_HPP
#else
#define KILN_SIMD_VECTOR_POWER_HPP
#endif

#include <limits>

#include "kiln/backend/cpu/simd/vector_exp.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

/// A normal number x > 0 as m 2^exponent, where m is between the square roots of 1/2 and of 2.
struct Normal {
  Vector<double> m, exponent;

  explicit HWY_INLINE Normal(Vector<double> x) {
    const hn::ScalableTag<double> tag;
    const hn::ScalableTag<std::uint64_t> bits;
    constexpr std::uint64_t kMantissa = (std::uint64_t{1} << 52) - 1, kOne = std::uint64_t{1023} << 52;
    constexpr double kBias = 0x1p52 + 1023;
    // The bits of the exponent become a number: they are put into the mantissa of 2^52.
    const auto pattern = hn::BitCast(bits, x.lanes);
    const auto place = hn::Or(hn::ShiftRight<52>(pattern), hn::BitCast(bits, hn::Set(tag, 0x1p52)));
    exponent = Vector<double>(hn::BitCast(tag, place)) - kBias;
    m = hn::BitCast(tag, hn::Or(hn::And(pattern, hn::Set(bits, kMantissa)), hn::Set(bits, kOne)));
    const Mask<double> large = m > 1.4142135623730951;
    m = select(large, m * 0.5, m);
    exponent = select(large, exponent + 1, exponent);
  }
};

/// log(x) for normal x > 0 as the sum of two numbers, with a relative error of 2^-65: 2 atanh((m - 1) / (m + 1)) and
/// the logarithm of the power of two. All terms of the series that matter to the second number include their rounding
/// errors.
struct TwoLogs {
  Vector<double> high, low;

  explicit HWY_INLINE TwoLogs(Vector<double> x) {
    const Normal parts(x);
    const Vector<double> m = parts.m, exponent = parts.exponent;
    const Vector<double> above = m - 1, below = m + 1, below_rest = m - (below - 1), inverse = 1 / below;
    const Vector<double> f = above * inverse, f_rest = (fma(-f, below, above) - f * below_rest) * inverse;
    const Vector<double> s = f * f, s_rest = fma(f, f, -s) + 2 * f * f_rest;
    const Vector<double> c = f * s, c_rest = fma(f, s, -c) + fma(f, s_rest, f_rest * s);
    const Vector<double> third = c * kTwoThirds;
    const Vector<double> third_rest = fma(c, kTwoThirds, -third) + fma(c, kTwoThirdsRest, c_rest * kTwoThirds);
    Vector<double> p = 0.11724327060846747;
    for (const double next : kFifths) p = fma(p, s, next);

    const Vector<double> of_exponent = exponent * kLog2, twice = 2 * f, first = of_exponent + twice;
    const Vector<double> back = first - of_exponent;
    const Vector<double> first_rest = (of_exponent - (first - back)) + (twice - back);
    high = first + third;
    const Vector<double> high_rest = third - (high - first);
    low = (first_rest + high_rest) + (fma(exponent, kLog2Rest, 2 * f_rest) + fma(c * s, p, third_rest));
  }

 private:
  static constexpr double kTwoThirds = 0.6666666666666666, kTwoThirdsRest = 3.700743415417188e-17;
  static constexpr double kLog2 = 0.693147180559663,
                          kLog2Rest = 2.8235290563031577e-13;  // the first has 11 zeros at its end
  /// The coefficients 2 / (2 k + 5), the last one first, adjusted by a fit at Chebyshev points.
  static constexpr double kFifths[] = {0.11706126464563398,
                                       0.1333480879881234,
                                       0.1538459488700718,
                                       0.18181818336099848,
                                       0.22222222221652765,
                                       0.2857142857142937,
                                       0.4};
};

/// |x|^y for a normal |x|, which is `size`, and a finite y.
HWY_INLINE Vector<double> power_of_size(Vector<double> size, Vector<double> y) {
  const TwoLogs log(size);
  const Vector<double> high = y * log.high, low = fma(y, log.high, -high) + y * log.low;
  // The exponential of high + low, in which each step includes the rounding error of the one before.
  const ExpParts<double> parts(clamp(high, -760, 720));
  const Vector<double> more = select(Vector<double>(hn::Abs(high.lanes)) < 760, low, Vector<double>(0));
  const Vector<double> r = parts.r + more, back = r - parts.r, rest = (parts.r - (r - back)) + (more - back);
  const Vector<double> tail = fma(r * r, exp_tail(r), rest), sum = r + tail, one = 1 + sum;
  return scale(one + ((sum - (one - 1)) + (tail - (sum - r))), parts.n);
}

/// x^y for a normal x > 0 and y that are floats, with a relative error below 2^-36: 2 atanh((m - 1) / (m + 1)) and e^r
/// come from Chebyshev fits of that accuracy.
HWY_INLINE Vector<double> power_of_float(Vector<double> x, Vector<double> y) {
  constexpr double kMaxExponent = 200;  // e^200 is outside of the range of floats
  const Normal parts(x);
  const Vector<double> f = (parts.m - 1) / (parts.m + 1), s = f * f;
  Vector<double> p = fma(s, 0.19362776836747533, 0.22191394493175057);
  p = fma(p, s, 0.2857175463573276);
  p = fma(p, s, 0.39999998796848674);
  p = fma(p, s, 0.6666666666737545);
  const Vector<double> log = fma(parts.exponent, 0.6931471805599453, fma(f * s, p, 2 * f));

  const Vector<double> z = clamp(y * log, -kMaxExponent, kMaxExponent), n = nearest(z * 1.4426950408889634);
  const Vector<double> r = fma(n, -0.6931471805599453, z);
  Vector<double> q = fma(r, 2.4859589834589056e-05, 0.00019899285575896282);
  q = fma(q, r, 0.001388885403566671);
  q = fma(q, r, 0.00833329846980059);
  q = fma(q, r, 0.04166666671901226);
  q = fma(q, r, 0.16666666719028936);
  q = fma(q, r, 0.5);
  return fma(fma(q, r, 1), r, 1) * power_of_two(n);
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
