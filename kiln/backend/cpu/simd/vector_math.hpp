// The functions of scalar_math.hpp for vectors. Functions without a vector form are computed lane by lane, and so are
// arguments outside of the range of a vector form. Errors against a wider reference are below 4 ULP; those of erfc, of
// lgamma and of erfinv of doubles are below 8 ULP (tests/backend/simd/math_test.cpp). Included once per target.
#if defined(KILN_SIMD_VECTOR_MATH_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_SIMD_VECTOR_MATH_HPP
#undef KILN_SIMD_VECTOR_MATH_HPP
#else
#define KILN_SIMD_VECTOR_MATH_HPP
#endif

#include <hwy/contrib/math/math-inl.h>

#include <limits>

#include "kiln/backend/cpu/simd/vector.hpp"
#include "kiln/backend/cpu/simd/vector_angle.hpp"
#include "kiln/backend/cpu/simd/vector_erf.hpp"
#include "kiln/backend/cpu/simd/vector_exp.hpp"
#include "kiln/backend/cpu/simd/vector_normal.hpp"
#include "kiln/backend/cpu/simd/vector_power.hpp"
#include "kiln/ops/elementwise/scalar_math.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

template <class T> inline constexpr T kInfinity = std::numeric_limits<T>::infinity();
inline constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

template <class T> HWY_INLINE Vector<T> abs(Vector<T> x) { return hn::Abs(x.lanes); }
template <class T> HWY_INLINE Vector<T> sqrt(Vector<T> x) { return hn::Sqrt(x.lanes); }
template <class T> HWY_INLINE Mask<T> is_inf(Vector<T> x) { return abs(x) == kInfinity<T>; }
template <class T> HWY_INLINE Mask<T> is_finite(Vector<T> x) { return abs(x) < kInfinity<T>; }
template <class T> HWY_INLINE Vector<T> with_sign_of(Vector<T> magnitude, Vector<T> sign) {
  return hn::CopySign(magnitude.lanes, sign.lanes);
}
template <class T> HWY_INLINE Vector<T> copysign(Vector<T> x, Vector<T> y) { return with_sign_of(x, y); }
template <class T> HWY_INLINE Mask<T> sign_bit(Vector<T> x) { return with_sign_of(Vector<T>(1), x) < 0; }
// Highway's one-lane target loses the sign of a zero.
template <class T> HWY_INLINE Vector<T> floor(Vector<T> x) { return with_sign_of<T>(hn::Floor(x.lanes), x); }
template <class T> HWY_INLINE Vector<T> ceil(Vector<T> x) { return with_sign_of<T>(hn::Ceil(x.lanes), x); }
template <class T> HWY_INLINE Vector<T> trunc(Vector<T> x) { return with_sign_of<T>(hn::Trunc(x.lanes), x); }
template <class T> HWY_INLINE Vector<T> round(Vector<T> x) { return with_sign_of<T>(hn::Round(x.lanes), x); }
template <class T> HWY_INLINE Vector<T> sign(Vector<T> x) {
  return select(x > 0, Vector<T>(1), select(x < 0, Vector<T>(-1), select(is_nan(x), x, Vector<T>(0))));
}

// Computes a function without a vector form lane by lane. It is not inlined, as its calls of `function` cost more.
template <class T, class F>
HWY_NOINLINE void lane_by_lane(T* x, F function) {
  for (std::size_t i = 0; i < kLanes<T>; ++i) x[i] = function(x[i]);
}
template <class T, class F>
HWY_NOINLINE void lane_by_lane(T* x, const T* y, F function) {
  for (std::size_t i = 0; i < kLanes<T>; ++i) x[i] = function(x[i], y[i]);
}
#define KILN_LANES(name)                                              \
  template <class T> HWY_INLINE Vector<T> name##_lanes(Vector<T> x) { \
    T lanes[kLanes<T>];                                               \
    store(x, lanes);                                                  \
    lane_by_lane(lanes, [](T a) { return scalar_math::name(a); });    \
    return Vector<T>::load(lanes);                                    \
  }
#define KILN_LANES_OF_TWO(name)                                                       \
  template <class T> HWY_INLINE Vector<T> name##_lanes(Vector<T> x, Vector<T> y) {    \
    T x_lanes[kLanes<T>], y_lanes[kLanes<T>];                                         \
    store(x, x_lanes);                                                                \
    store(y, y_lanes);                                                                \
    lane_by_lane(x_lanes, y_lanes, [](T a, T b) { return scalar_math::name(a, b); }); \
    return Vector<T>::load(x_lanes);                                                  \
  }
KILN_LANES(sin)
KILN_LANES(cos)
KILN_LANES(sinh)
KILN_LANES(cosh)
KILN_LANES(tan)
KILN_LANES(lgamma)
KILN_LANES(digamma)
KILN_LANES(i0)
KILN_LANES(i1)
KILN_LANES_OF_TWO(atan2)
KILN_LANES_OF_TWO(fmod)
KILN_LANES_OF_TWO(hypot)
KILN_LANES_OF_TWO(polygamma)
KILN_LANES_OF_TWO(pow)
#undef KILN_LANES_OF_TWO

/// Returns `fast` in the lanes that are `inside`, and slow() in the others. The result of a lane must not depend on its
/// neighbours: otherwise results would change with the way in which memory is split into vectors.
template <class T, class Slow>
HWY_INLINE Vector<T> within(Mask<T> inside, Vector<T> fast, Slow slow) {
  return any(!inside) ? select(inside, fast, slow()) : fast;
}

/// Computes f of floats in double precision and rounds the result, for functions whose steps need more digits than
/// floats have.
template <class F, class... Floats>
HWY_INLINE Vector<float> in_double(F f, Floats... x) {
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, decltype(wide)> narrow;
  float lanes[sizeof...(x)][kLanes<float>], result[kLanes<float>];
  std::size_t k = 0;
  (store(x, lanes[k++]), ...);
  for (std::size_t i = 0; i < kLanes<float>; i += kLanes<double>) {
    const auto part = [&](std::size_t operand) HWY_ATTR -> Vector<double> {
      return hn::PromoteTo(wide, hn::LoadU(narrow, lanes[operand] + i));
    };
    Vector<double> z;
    if constexpr (sizeof...(x) == 1) z = f(part(0));
    else z = f(part(0), part(1));
    // Conversions of Highway's emulated targets saturate where those of other targets overflow.
    if constexpr (HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128) {
      double wide_result[kLanes<double>];
      store(z, wide_result);
      for (std::size_t k = 0; k < kLanes<double>; ++k) result[i + k] = static_cast<float>(wide_result[k]);
    } else {
      hn::StoreU(hn::DemoteTo(narrow, z.lanes), narrow, result + i);
    }
  }
  return Vector<float>::load(result);
}

template <class T> HWY_INLINE Vector<T> floor_divide(Vector<T> x, Vector<T> y) { return floor(x / y); }

template <class T>
HWY_INLINE Vector<T> exp2(Vector<T> x) {
  const Vector<T> bounded = clamp(x, kSingle<T> ? -151 : -1076, kSingle<T> ? 129 : 1025);
  const Vector<T> n = nearest(bounded), r = (bounded - n) * 0.6931471805599453;
  return scale(exp_near_zero(r), n);
}

template <class T>
HWY_INLINE Vector<T> expm1(Vector<T> x) {
  const ExpParts<T> parts(clamp(x, -40, kSingle<T> ? 88.9 : 709.9));
  const Vector<T> half = power_of_two(parts.n - 1);  // half the scale, which is finite where the result is
  const Vector<T> y = 2 * fma(half, parts.expm1_of_rest(), half - 0.5);
  return select(abs(x) < 1e-17, x, y);  // keeps -0
}

/// Computes exp(-x^2) erfcx(|x|), and 2 minus that for x < 0. erfcx is t times a polynomial of t = 1 / (1 + 0.4 |x|), a
/// minimax fit for the relative error (8e-9). The square is computed in two parts, as the exponential magnifies its
/// rounding error.
HWY_INLINE Vector<float> erfc(Vector<float> x) {
  if constexpr (!HWY_NATIVE_FMA) {
    return in_double([](auto v) HWY_ATTR { return erfc(v); }, x);
  } else {
    const Vector<float> size = at_most(abs(x), 10.2f), t = 1 / fma(size, 0.4f, 1), u = t - 0.5f;
    Vector<float> p = fma(u, -0.029206154868006706f, 0.06447705626487732f);
    p = fma(p, u, 0.02691054716706276f);
    p = fma(p, u, -0.12299422174692154f);
    p = fma(p, u, -0.10779254883527756f);
    p = fma(p, u, 0.18150919675827026f);
    p = fma(p, u, 0.5480148196220398f);
    p = fma(p, u, 0.726262629032135f);
    p = fma(p, u, 0.6437214016914368f);
    p = fma(p, u, 0.4216127395629883f);
    const Vector<float> square = size * size, rest = fma(size, size, -square), power = exp(-square);
    const Vector<float> y = fma(-rest, power, power) * (p * t);
    return select(x < 0, 2 - y, y);
  }
}

// Highway's logarithms take positive, finite numbers.
template <class T>
HWY_INLINE Vector<T> log_or_limit(Vector<T> x, Vector<T> y) {
  y = select(x == 0, Vector<T>(-kInfinity<T>), y);
  y = select(x < 0, Vector<T>(std::numeric_limits<T>::quiet_NaN()), y);
  return select(x < kInfinity<T>, y, x);
}
template <class T> HWY_INLINE Vector<T> log(Vector<T> x) {
  return log_or_limit<T>(x, hn::Log(hn::ScalableTag<T>(), x.lanes));
}
template <class T> HWY_INLINE Vector<T> log2(Vector<T> x) { return log(x) * 1.4426950408889634; }
template <class T> HWY_INLINE Vector<T> log10(Vector<T> x) { return log(x) * 0.4342944819032518; }
template <class T> HWY_INLINE Vector<T> log1p(Vector<T> x) {
  const Vector<T> y = hn::Log1p(hn::ScalableTag<T>(), x.lanes);
  return select(abs(x) < 1e-17, x, log_or_limit<T>(x + 1, y));
}

/// Computes x times a polynomial of log(1 - x^2), or of its root near the ends: M. Giles, "Approximating the erfinv
/// function", 2010.
HWY_INLINE Vector<float> erfinv(Vector<float> x) {
  if constexpr (!HWY_NATIVE_FMA) {
    return in_double([](auto v) HWY_ATTR { return erfinv(v); }, x);
  } else {
    const Vector<float> size = abs(x), w = -log((1 - size) * (1 + size)), u = w - 2.5f;
    Vector<float> p = fma(u, 2.81022636e-08f, 3.43273939e-07f);
    p = fma(p, u, -3.5233877e-06f);
    p = fma(p, u, -4.39150654e-06f);
    p = fma(p, u, 0.00021858087f);
    p = fma(p, u, -0.00125372503f);
    p = fma(p, u, -0.00417768164f);
    p = fma(p, u, 0.246640727f);
    p = fma(p, u, 1.50140941f);
    if (const Mask<float> outer = w >= 5; any(outer)) {
      const Vector<float> v = sqrt(w) - 3;
      Vector<float> q = fma(v, -0.000200214257f, 0.000100950558f);
      q = fma(q, v, 0.00134934322f);
      q = fma(q, v, -0.00367342844f);
      q = fma(q, v, 0.00573950773f);
      q = fma(q, v, -0.0076224613f);
      q = fma(q, v, 0.00943887047f);
      q = fma(q, v, 1.00167406f);
      q = fma(q, v, 2.83297682f);
      p = select(outer, q, p);
    }
    return select(size == 1, x * kInfinity<float>, x * p);
  }
}

// The range reduction is accurate up to this angle; larger angles are so rare that their speed does not matter.
inline constexpr double kTrigonometricLimit = 30000;
template <class T> HWY_INLINE Vector<T> sin(Vector<T> x) {
  const Mask<T> inside = abs(x) < kTrigonometricLimit;
  const Vector<T> bounded = select(inside, x, Vector<T>(0));                            // NaN has no integer value
  const Vector<T> y = select(x == 0, x, hn::Sin(hn::ScalableTag<T>(), bounded.lanes));  // keeps -0
  return within(inside, y, [&]() HWY_ATTR { return sin_lanes(x); });
}
template <class T> HWY_INLINE Vector<T> cos(Vector<T> x) {
  const Mask<T> inside = abs(x) < kTrigonometricLimit;
  const Vector<T> y = hn::Cos(hn::ScalableTag<T>(), select(inside, x, Vector<T>(0)).lanes);
  return within(inside, y, [&]() HWY_ATTR { return cos_lanes(x); });
}

/// tan(r) for |r| up to pi / 4: a minimax fit for floats (relative error 1.3e-9), and the power series of sine and
/// cosine for doubles.
HWY_INLINE Vector<float> tan_near_zero(Vector<float> r) {
  const Vector<float> s = r * r;
  Vector<float> p = fma(s, 0.004387067165225744f, 6.82217869325541e-05f);
  p = fma(p, s, 0.010852165520191193f);
  p = fma(p, s, 0.021276062354445457f);
  p = fma(p, s, 0.05406106635928154f);
  p = fma(p, s, 0.13332653045654297f);
  p = fma(p, s, 0.33333349227905273f);
  return fma(r * s, p, r);
}
HWY_INLINE Vector<double> tan_near_zero(Vector<double> r) {
  static constexpr double kSine[] = {1.0 / 355687428096000, -1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800,
                                     1.0 / 362880,          -1.0 / 5040,          1.0 / 120,        -1.0 / 6};
  static constexpr double kCosine[] = {-1.0 / 6402373705728000,
                                       1.0 / 20922789888000,
                                       -1.0 / 87178291200,
                                       1.0 / 479001600,
                                       -1.0 / 3628800,
                                       1.0 / 40320,
                                       -1.0 / 720,
                                       1.0 / 24,
                                       -0.5};
  const Vector<double> s = r * r;
  return fma(r * s, polynomial(s, kSine), r) / fma(s, polynomial(s, kCosine), 1);
}
/// Reduces the angle by the nearest multiple n of pi / 2, which is the sum of three numbers: each of them adds digits
/// that those before it lack.
template <class T> HWY_INLINE Vector<T> tan(Vector<T> x) {
  if constexpr (HWY_NATIVE_FMA) {
    const Mask<T> inside = abs(x) < kTrigonometricLimit;
    const Vector<T> n = nearest(select(inside, x, Vector<T>(0)) * 0.6366197723675814);
    Vector<T> r = fma(n, kSingle<T> ? -1.57079637050628662109375 : -1.5707963267948966, x);
    r = fma(n, kSingle<T> ? 4.371138828673793e-8 : -6.123233995736766e-17, r);
    r = fma(n, kSingle<T> ? 1.715124510005882e-15 : 1.4973849048591833e-33, r);
    const Vector<T> y = tan_near_zero(r), half = n * 0.5;
    const Vector<T> z = select(x == 0, x, select(floor(half) == half, y, -1 / y));  // keeps -0
    return within(inside, z, [&]() HWY_ATTR { return tan_lanes(x); });
  } else if constexpr (kSingle<T>) {
    const Vector<T> y = in_double([](auto v) HWY_ATTR { return sin(v) / cos(v); }, x);
    return within(abs(x) < kTrigonometricLimit, y, [&]() HWY_ATTR { return tan_lanes(x); });
  } else {
    return tan_lanes(x);
  }
}

/// sin(pi x) / (pi x), with the sine's argument reduced exactly.
template <class T> HWY_INLINE Vector<T> sinc(Vector<T> x) {
  const Vector<T> whole = round(x), sine = sin((x - whole) * 3.141592653589793);
  const Vector<T> numerator = select(floor(whole * 0.5) * 2 == whole, sine, -sine);
  return select(x == 0, Vector<T>(1), numerator / (x * 3.141592653589793));
}

// For larger x, exp(x) overflows before sinh(x) does.
template <class T> inline constexpr double kHyperbolicLimit = kSingle<T> ? 88 : 709;
template <class T> HWY_INLINE Vector<T> sinh(Vector<T> x) {
  const Vector<T> e = expm1(abs(x)), y = with_sign_of(Vector<T>(0.5 * (e + e / (e + 1))), x);
  return within(abs(x) <= kHyperbolicLimit<T>, y, [&]() HWY_ATTR { return sinh_lanes(x); });
}
template <class T> HWY_INLINE Vector<T> cosh(Vector<T> x) {
  const Vector<T> e = exp(abs(x));
  return within(abs(x) <= kHyperbolicLimit<T>, 0.5 * e + 0.5 / e, [&]() HWY_ATTR { return cosh_lanes(x); });
}
template <class T> HWY_INLINE Vector<T> tanh(Vector<T> x) {
  const ExpParts<T> parts(2 * at_most(abs(x), 20));
  const Vector<T> power = power_of_two(parts.n), e = fma(power, parts.expm1_of_rest(), power - 1);
  return with_sign_of(Vector<T>(e / (e + 2)), x);
}

KILN_LANES(asinh)
KILN_LANES(acosh)
KILN_LANES(atanh)
// The functions of Highway square their argument, which must not overflow.
template <class T> inline constexpr double kSquareLimit = kSingle<T> ? 1e18 : 1e150;
template <class T> HWY_INLINE Vector<T> asinh(Vector<T> x) {
  const Vector<T> y = with_sign_of(Vector<T>(hn::Asinh(hn::ScalableTag<T>(), x.lanes)), x);
  return within(abs(x) < kSquareLimit<T>, y, [&]() HWY_ATTR { return asinh_lanes(x); });
}
template <class T> HWY_INLINE Vector<T> acosh(Vector<T> x) {
  const Vector<T> y = hn::Acosh(hn::ScalableTag<T>(), x.lanes);
  return within((x >= 1) & (x < kSquareLimit<T>), y, [&]() HWY_ATTR { return acosh_lanes(x); });
}
template <class T> HWY_INLINE Vector<T> atanh(Vector<T> x) {
  const Vector<T> y = with_sign_of(Vector<T>(hn::Atanh(hn::ScalableTag<T>(), x.lanes)), x);
  return within(abs(x) < 1, y, [&]() HWY_ATTR { return atanh_lanes(x); });
}
template <class T> HWY_INLINE Vector<T> asin(Vector<T> x) { return hn::Asin(hn::ScalableTag<T>(), x.lanes); }
template <class T> HWY_INLINE Vector<T> acos(Vector<T> x) { return hn::Acos(hn::ScalableTag<T>(), x.lanes); }
template <class T> HWY_INLINE Vector<T> atan(Vector<T> x) { return hn::Atan(hn::ScalableTag<T>(), x.lanes); }

// Functions of two floats are computed in double precision. Those of doubles are computed lane by lane if the
// target has no FMA.
template <class T> HWY_INLINE Vector<T> hypot(Vector<T> x, Vector<T> y) {
  if constexpr (kSingle<T>) {
    const Vector<T> z = in_double([](auto a, auto b) HWY_ATTR { return sqrt(a * a + b * b); }, x, y);
    return within(is_finite(x) & is_finite(y), z, [&]() HWY_ATTR { return hypot_lanes(x, y); });
  } else if constexpr (HWY_NATIVE_FMA) {
    // The limits keep squares from overflowing, and from becoming so small that digits are lost.
    const Vector<T> most = max(abs(x), abs(y)), z = sqrt(fma(x, x, y * y));
    return within((most < 1e150) & (most > 1e-140), z, [&]() HWY_ATTR { return hypot_lanes(x, y); });
  } else {
    return hypot_lanes(x, y);
  }
}
template <class T> HWY_INLINE Vector<T> atan2(Vector<T> x, Vector<T> y) {
  if constexpr (HWY_NATIVE_FMA) {
    return within(has_plain_angle(x, y), plain_angle(x, y), [&]() HWY_ATTR { return atan2_lanes(x, y); });
  } else if constexpr (kSingle<T>) {
    const Vector<T> z = in_double(
        [](auto a, auto b) HWY_ATTR {
          const auto angle = atan(abs(a) / abs(b));
          return with_sign_of(select(b < 0, 3.141592653589793 - angle, angle), a);
        },
        x, y);
    return within(is_finite(x) & is_finite(y) & (y != 0), z, [&]() HWY_ATTR { return atan2_lanes(x, y); });
  } else {
    return atan2_lanes(x, y);
  }
}
/// Makes x^y of `size` = |x|^y: for x < 0 it is negative if y is odd, and NaN if y is not an integer.
template <class T>
HWY_INLINE Vector<T> signed_power(Vector<T> size, Vector<T> x, Vector<T> y) {
  const Mask<T> below = x < 0;
  if (!any(below)) return size;
  const Vector<T> half = y * 0.5;
  const Mask<T> whole = floor(y) == y, odd = whole & (floor(half) != half);
  return select(below, select(whole, select(odd, -size, size), Vector<T>(kNotANumber)), size);
}
template <class T> HWY_INLINE Vector<T> pow(Vector<T> x, Vector<T> y) {
  if constexpr (kSingle<T>) {
    const Vector<T> size = in_double([](auto a, auto b) HWY_ATTR { return power_of_float(a, b); }, abs(x), y);
    return within(is_finite(x) & is_finite(y) & (x != 0), signed_power(size, x, y),
                  [&]() HWY_ATTR { return pow_lanes(x, y); });
  } else if constexpr (HWY_NATIVE_FMA) {
    const Vector<T> size = abs(x), z = signed_power(power_of_size(size, y), x, y);
    return within(is_finite(x) & is_finite(y) & (size >= std::numeric_limits<T>::min()), z,
                  [&]() HWY_ATTR { return pow_lanes(x, y); });
  } else {
    return pow_lanes(x, y);
  }
}
/// Computes lanes as vectors if the quotient has so few digits that its product with y is exact in double precision.
template <class T> HWY_INLINE Vector<T> fmod(Vector<T> x, Vector<T> y) {
  if constexpr (kSingle<T>) {
    const Vector<T> z = with_sign_of(in_double([](auto a, auto b) HWY_ATTR { return a - trunc(a / b) * b; }, x, y), x);
    return within((abs(x) < abs(y) * 0x1p26) & is_finite(x) & is_finite(y), z,
                  [&]() HWY_ATTR { return fmod_lanes(x, y); });
  } else if constexpr (HWY_NATIVE_FMA) {
    // The quotient may have been rounded up to the next integer. The remainder, negative then, is exact all the same.
    const Vector<T> size = abs(x), by = abs(y), left = fma(-trunc(size / by), by, size);
    const Vector<T> rest = select(left < 0, left + by, left);
    return within((size < by * 0x1p52) & is_finite(x) & is_finite(y), with_sign_of(rest, x),
                  [&]() HWY_ATTR { return fmod_lanes(x, y); });
  } else {
    return fmod_lanes(x, y);
  }
}
template <class T> HWY_INLINE Vector<T> remainder(Vector<T> x, Vector<T> y) {
  const Vector<T> rest = fmod(x, y);
  return select((rest != 0) & ((rest < 0) ^ (y < 0)), rest + y, rest);
}

#undef KILN_LANES

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
