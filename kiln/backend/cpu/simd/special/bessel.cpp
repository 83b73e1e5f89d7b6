// Bessel functions of orders 0 and 1 by the methods of ops/special/bessel.cpp, except that Y is a power series near 0.
#include "kiln/ops/special/bessel.hpp"

#include <algorithm>

#include "kiln/backend/cpu/simd/special/special.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/special/bessel.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/vector_gamma.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace {

using special::kBesselFar;
using special::kBesselNear;

/// The sum over k of c[kFirst + k kStep] z^k. Even and odd terms are summed independently, so that two chains of
/// additions run at once.
template <std::size_t kFirst = 0, std::size_t kStep = 1, std::size_t kCount>
HWY_INLINE Doubles sum_of_powers(const std::array<double, kCount>& c, Doubles z) {
  static_assert(kCount / kStep % 2 == 0);
  const Doubles square = z * z;
  Doubles even = 0, odd = 0;
  for (std::size_t k = kCount / kStep; k > 0; k -= 2) {
    even = fma(even, square, c[kFirst + (k - 2) * kStep]);
    odd = fma(odd, square, c[kFirst + (k - 1) * kStep]);
  }
  return fma(odd, z, even);
}

/// J and Y of orders 0 and 1. The compiler removes those that a caller does not read.
struct Bessel {
  Doubles j0, j1, y0, y1;
};

/// Bessel functions of x in [0, kBesselNear].
HWY_INLINE Bessel bessel_near(Doubles x) {
  const Doubles half = x * 0.5, z = half * half, log_of_half = log(half);
  const Doubles j0 = sum_of_powers(special::kBesselSeries<0, -1>, z),
                j1 = half * sum_of_powers(special::kBesselSeries<1, -1>, z);
  const Doubles y0 = fma(log_of_half, j0, sum_of_powers(special::kNeumannSeries<0>, z)),
                y1 = fma(log_of_half, j1, half * sum_of_powers(special::kNeumannSeries<1>, z)) - 1 / x;
  return {j0, j1, y0 * (2 / kPi), y1 * (2 / kPi)};
}

/// Bessel functions of x between kBesselNear and kBesselFar by Miller's method, from an order that is high enough for
/// all of these x.
HWY_INLINE Bessel bessel_by_recurrence(Doubles x) {
  constexpr int kTop = 66;
  const Doubles inverse = 1 / x;
  Doubles above = 0, j = 1e-290, sum = 0, neumann = 0, slope = 0;
  for (int n = kTop; n > 0; n -= 2) {  // j is J(n) and `above` is J(n + 1), up to a common factor
    const Doubles below = fma(inverse * static_cast<double>(2 * n), j, -above);
    const double weight = (n / 2 % 2 == 0 ? 2.0 : -2.0) / n;
    sum = sum + j;
    neumann = fma(j, weight, neumann);
    slope = fma(below - above, weight / 2, slope);
    const Doubles next = fma(inverse * static_cast<double>(2 * n - 2), below, -j);
    above = below;
    j = next;
  }
  const Doubles scale = 1 / fma(sum, 2.0, j), j0 = j * scale, j1 = above * scale;
  const Doubles log_of = log(x * 0.5) + special::kEuler;
  return {j0, j1, (2 / kPi) * fma(log_of, j0, -2.0 * neumann * scale),
          (2 / kPi) * (fma(log_of, j1, 2.0 * slope * scale) - j0 * inverse)};
}

/// The sums of the even and of the odd terms of Hankel's expansion, each with alternating signs.
struct Hankel {
  Doubles even, odd;
};
template <int kOrder>
HWY_INLINE Hankel hankel(Doubles inverse) {
  const Doubles minus_square = -inverse * inverse;
  return {sum_of_powers<0, 2>(special::kHankelSeries<kOrder>, minus_square),
          sum_of_powers<1, 2>(special::kHankelSeries<kOrder>, minus_square) * inverse};
}

/// Bessel functions of finite x >= kBesselFar.
HWY_INLINE Bessel bessel_far(Doubles x) {
  // plus = sqrt(2) cos(x - pi / 4) and minus = sqrt(2) sin(x - pi / 4). For order 1 they also give
  // the functions of x - 3 pi / 4.
  const Doubles sine = sin(x), cosine = cos(x), plus = cosine + sine, minus = sine - cosine;
  const Doubles inverse = 1 / x, scale = 1 / sqrt(x * kPi);
  const Hankel p = hankel<0>(inverse), q = hankel<1>(inverse);
  return {scale * (p.even * plus - p.odd * minus), scale * (q.even * minus + q.odd * plus),
          scale * (p.even * minus + p.odd * plus), scale * (q.odd * minus - q.even * plus)};
}

/// One of the functions for x >= 0. The method of a range is computed only for vectors with numbers in
/// that range. NaN stays NaN.
template <Doubles Bessel::* kWhich>
HWY_INLINE Doubles bessel(Doubles x) {
  const Mask<double> far = x >= kBesselFar, middle = (x > kBesselNear) & !far;
  Doubles y = bessel_near(select(far | middle, Doubles(1), x)).*kWhich;
  if (any(middle)) y = select(middle, bessel_by_recurrence(select(middle, x, Doubles(10))).*kWhich, y);
  if (any(far)) {
    const Mask<double> finite = far & is_finite(x);
    const Doubles found = bessel_far(select(finite, x, Doubles(kBesselFar))).*kWhich;
    y = select(far, select(finite, found, Doubles(0)), y);
  }
  return y;
}

template <Doubles Bessel::* kWhich>
HWY_INLINE Doubles second_kind(Doubles x) {
  const Mask<double> positive = x > 0;
  const Doubles y = bessel<kWhich>(select(positive, x, Doubles(1)));
  return select(positive, y, select(x == 0, Doubles(-kInfinity<double>), Doubles(kNotANumber)));
}

/// exp(-|x|) I(order, |x|)
template <int kOrder>
HWY_INLINE Doubles scaled_i(Doubles x) {
  const Doubles size = abs(x);
  const Mask<double> near = size < 20;
  Doubles y = exp(-size) * bessel_series<kOrder>(select(near, size, Doubles(0)));
  if (any(!near)) {
    const Doubles inverse = 1 / size;
    y = select(near, y, sum_of_powers(special::kHankelSeries<kOrder>, -inverse) / sqrt(size * (2 * kPi)));
  }
  return y;
}

Doubles bessel_j0(Doubles x) { return bessel<&Bessel::j0>(abs(x)); }
Doubles bessel_j1(Doubles x) { return bessel<&Bessel::j1>(abs(x)) * with_sign_of(Doubles(1), x); }
Doubles bessel_y0(Doubles x) { return second_kind<&Bessel::y0>(x); }
Doubles bessel_y1(Doubles x) { return second_kind<&Bessel::y1>(x); }
Doubles i0e(Doubles x) { return scaled_i<0>(x); }
Doubles i1e(Doubles x) { return with_sign_of(scaled_i<1>(x), x); }

template <Doubles (*function)(Doubles)>
void block(const double* x, double* z, std::size_t n) {
  constexpr std::size_t lanes = kLanes<double>;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) store(function(Doubles::load(x + i)), z + i);
  if (i == n) return;
  double last[lanes] = {};
  std::copy_n(x + i, n - i, last);
  store(function(Doubles::load(last)), last);
  std::copy_n(last, n - i, z + i);
}

}  // namespace

SpecialBlock find_bessel(op::SpecialFn fn) {
  switch (fn) {
    case op::SpecialFn::BesselJ0: return &block<bessel_j0>;
    case op::SpecialFn::BesselJ1: return &block<bessel_j1>;
    case op::SpecialFn::BesselY0: return &block<bessel_y0>;
    case op::SpecialFn::BesselY1: return &block<bessel_y1>;
    case op::SpecialFn::I0e: return &block<i0e>;
    case op::SpecialFn::I1e: return &block<i1e>;
    default: return nullptr;
  }
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(find_bessel);
SpecialBlock bessel_block(op::SpecialFn fn) { return HWY_DYNAMIC_DISPATCH(find_bessel)(fn); }

}  // namespace kiln::cpu::simd
#endif
