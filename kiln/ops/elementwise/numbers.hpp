// Functions composed of the rows of elementwise.def: shorthands and comparisons with a tolerance. Operands broadcast
// and promote; docs/numbers.md says what integers, infinities and NaN give.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

enum class Rounding : std::uint8_t { Trunc, Floor };
/// The quotient as a whole number: rounded towards 0, or down. For integers it is exact, and 0 where y is 0.
Value div(const Value& x, const Value& y, Rounding rounding);
/// x rounded to `decimals` digits after the point, or before it where `decimals` is negative; halves round to even.
Value round(const Value& x, int decimals);
/// The larger and the smaller operand; where one operand is NaN, the other one.
Value fmax(const Value& x, const Value& y);
Value fmin(const Value& x, const Value& y);
/// Returns x after a check of its elements: ArgumentError names one that is outside [low, high]. NaN passes.
Value within(const Value& x, double low, double high);
Value clamp_min(const Value& x, const Value& low);
Value clamp_max(const Value& x, const Value& high);
Value deg2rad(const Value& x);
Value rad2deg(const Value& x);
/// pow() computed in float64.
Value float_power(const Value& x, const Value& y);
/// pow() for whole exponents: a float to an integer, or an integer to an integer. Throws DTypeError for others.
Value powi(const Value& x, const Value& exponent);
/// log(x / (1 - x)) with x brought into [epsilon, 1 - epsilon] first.
Value logit(const Value& x, double epsilon);
/// The second derivative of lgamma().
Value trigamma(const Value& x);

/// x with NaN, infinity and -infinity replaced; without a given value, by the largest number of the infinity's sign.
Value nan_to_num(const Value& x, double nan = 0, std::optional<double> infinity = {},
                 std::optional<double> negative_infinity = {});
Value is_posinf(const Value& x);
Value is_neginf(const Value& x);
/// Whether any element is NaN: a boolean of rank 0.
Value contains_nan(const Value& x);
/// |x - y| <= absolute + relative * |y|; equal infinities are close, NaN is close to NaN only if `equal_nan`.
Value is_close(const Value& x, const Value& y, double relative = 1e-5, double absolute = 1e-8, bool equal_nan = false);
/// Whether all elements are close: a boolean of rank 0.
Value all_close(const Value& x, const Value& y, double relative = 1e-5, double absolute = 1e-8, bool equal_nan = false);

/// x + (y - x) * weight: exactly x at 0 and y at 1.
Value lerp(const Value& x, const Value& y, const Value& weight);
/// x + scale * a * b
Value addcmul(const Value& x, const Value& a, const Value& b, const Value& scale = 1);
/// x + scale * a / b
Value addcdiv(const Value& x, const Value& a, const Value& b, const Value& scale = 1);

}  // namespace kiln
