// Functions composed of elementwise ones: shorthands, comparisons with a tolerance, products of vectors. Contracts are
// in ops/elementwise/numbers.hpp; docs/numbers.md describes the behaviour at the limits of the types.
#pragma once
#include "kiln/ops/elementwise/numbers.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// The quotient rounded to an integer: div(x, y, Rounding::Trunc).
template <int D, class K, Operand Y>
Tensor<kJoinedRank<Tensor<D, K>, Y>, Arithmetic<K, KindOfOperand<Y>>> div(const Tensor<D, K>& x, const Y& y,
                                                                          Rounding rounding) {
  return Typed{div(x.value(), Value(y), rounding)};
}
/// Rounds to this many digits after the decimal point, or before it where `decimals` is negative.
template <int D, class K>
Tensor<D, K> round(const Tensor<D, K>& x, int decimals) {
  return Typed{round(x.value(), decimals)};
}
/// The larger and the smaller one; where one operand is NaN, the other operand.
template <int D, class K, Operand Y>
Tensor<kJoinedRank<Tensor<D, K>, Y>, Joined<K, KindOfOperand<Y>>> fmax(const Tensor<D, K>& x, const Y& y) {
  return Typed{fmax(x.value(), value_of(y))};
}
template <int D, class K, Operand Y>
Tensor<kJoinedRank<Tensor<D, K>, Y>, Joined<K, KindOfOperand<Y>>> fmin(const Tensor<D, K>& x, const Y& y) {
  return Typed{fmin(x.value(), value_of(y))};
}

/// Returns x after checking its elements: ArgumentError names one that is outside [low, high]. A NaN passes.
template <int D>
Tensor<D> within(const Tensor<D>& x, double low, double high) {
  return Typed{within(x.value(), low, high)};
}
template <int D, class K, Operand Low>
requires Has<K>::Number
Tensor<kJoinedRank<Tensor<D, K>, Low>, Joined<K, KindOfOperand<Low>>> clamp_min(const Tensor<D, K>& x, const Low& low) {
  return Typed{clamp_min(x.value(), Value(low))};
}
template <int D, class K, Operand High>
requires Has<K>::Number
Tensor<kJoinedRank<Tensor<D, K>, High>, Joined<K, KindOfOperand<High>>> clamp_max(const Tensor<D, K>& x,
                                                                                  const High& high) {
  return Typed{clamp_max(x.value(), Value(high))};
}
template <int D, class K>
Tensor<D> deg2rad(const Tensor<D, K>& x) {
  return Typed{deg2rad(x.value())};
}
template <int D, class K>
Tensor<D> rad2deg(const Tensor<D, K>& x) {
  return Typed{rad2deg(x.value())};
}
/// pow() computed in float64.
template <Operand X, Operand Y>
Tensor<kJoinedRank<X, Y>> float_power(const X& x, const Y& y) {
  return Typed{float_power(Value(x), Value(y))};
}
template <int D, class K, Operand Exponent>
requires std::is_same_v<KindOfOperand<Exponent>, Int>
Tensor<kJoinedRank<Tensor<D, K>, Exponent>, Arithmetic<K>> powi(const Tensor<D, K>& x, const Exponent& exponent) {
  return Typed{powi(x.value(), Value(exponent))};
}
/// log(x / (1 - x)) with x clamped to [epsilon, 1 - epsilon] first.
template <int D>
Tensor<D> logit(const Tensor<D>& x, double epsilon) {
  return Typed{logit(x.value(), epsilon)};
}
template <int D>
Tensor<D> trigamma(const Tensor<D>& x) {
  return Typed{trigamma(x.value())};
}

template <int D>
Tensor<D> nan_to_num(const Tensor<D>& x, double nan = 0, std::optional<double> infinity = {},
                     std::optional<double> negative_infinity = {}) {
  return Typed{nan_to_num(x.value(), nan, infinity, negative_infinity)};
}
template <int D>
Tensor<D, Bool> is_posinf(const Tensor<D>& x) {
  return Typed{is_posinf(x.value())};
}
template <int D>
Tensor<D, Bool> is_neginf(const Tensor<D>& x) {
  return Typed{is_neginf(x.value())};
}
template <int D>
Tensor<0, Bool> contains_nan(const Tensor<D>& x) {
  return Typed{contains_nan(x.value())};
}
/// |x - y| <= absolute + relative * |y|
template <Operand X, Operand Y>
Tensor<kJoinedRank<X, Y>, Bool> is_close(const X& x, const Y& y, double relative = 1e-5, double absolute = 1e-8,
                                         bool equal_nan = false) {
  return Typed{is_close(Value(x), Value(y), relative, absolute, equal_nan)};
}
template <Operand X, Operand Y>
Tensor<0, Bool> all_close(const X& x, const Y& y, double relative = 1e-5, double absolute = 1e-8,
                          bool equal_nan = false) {
  return Typed{all_close(Value(x), Value(y), relative, absolute, equal_nan)};
}

/// x + (y - x) * weight
template <int D, int E, Operand Weight>
Tensor<kJoinedRank<Tensor<D>, Tensor<kJoinedRank<Tensor<E>, Weight>>>> lerp(const Tensor<D>& x, const Tensor<E>& y,
                                                                            const Weight& weight) {
  return Typed{lerp(x.value(), y.value(), Value(weight))};
}
/// x + scale * a * b; a and b broadcast to x.
template <int D, int E, int F>
requires(E <= D && F <= D)
Tensor<D> addcmul(const Tensor<D>& x, const Tensor<E>& a, const Tensor<F>& b, double scale = 1) {
  return Typed{addcmul(x.value(), a.value(), b.value(), scale)};
}
/// x + scale * a / b; a and b broadcast to x.
template <int D, int E, int F>
requires(E <= D && F <= D)
Tensor<D> addcdiv(const Tensor<D>& x, const Tensor<E>& a, const Tensor<F>& b, double scale = 1) {
  return Typed{addcdiv(x.value(), a.value(), b.value(), scale)};
}

}  // namespace kiln
