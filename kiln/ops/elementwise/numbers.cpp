#include "kiln/ops/elementwise/numbers.hpp"

#include <cmath>
#include <limits>

#include "kiln/ops/elementwise/precision.hpp"

namespace kiln {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double largest(DType dtype) {
  return visit_dtype(dtype, []<class T>(TypeTag<T>) -> double {
    if constexpr (std::is_same_v<T, F16>) return 65504;
    else if constexpr (std::is_same_v<T, BF16>) return 0x1.fep127;
    else return static_cast<double>(std::numeric_limits<T>::max());
  });
}

Value to_double(const Value& x) { return x.is_scalar() ? Value(x.scalar().to<double>()) : cast(x, DType::F64); }

bool is_whole(const Value& x) { return x.is_scalar() ? x.scalar().kind() != Kind::Float : !is_float(x.dtype()); }

}  // namespace

Value div(const Value& x, const Value& y, Rounding rounding) {
  if (rounding == Rounding::Floor) return floor_divide(x, y);
  return is_whole(x) && is_whole(y) ? floor_divide(x - fmod(x, y), y) : trunc(x / y);
}
Value round(const Value& x, int decimals) {
  require<ArgumentError>(decimals >= -300 && decimals <= 300, "round: ", decimals, " decimals are not -300 to 300");
  if (decimals == 0 || (is_whole(x) && decimals > 0)) return round(x);
  if (is_whole(x)) {
    if (decimals < -18) return x * 0;
    const auto unit = static_cast<std::int64_t>(std::pow(10.0, -decimals));
    const Value wide = cast(x, DType::I64), rest = remainder(wide, unit), down = wide - rest;
    const Value odd = eq(remainder(floor_divide(wide, unit), 2), 1);
    const Value up = logical_or(gt(rest, unit / 2), logical_and(eq(rest, unit / 2), odd));
    return cast(where(up, down + unit, down), x.dtype());
  }
  // A half type has too few digits for the steps in between.
  if (is_float(x.dtype()) && size_of(x.dtype()) == 2) return cast(round(cast(x, DType::F32), decimals), x.dtype());
  const double scale = std::pow(10.0, std::abs(decimals));
  const Value scaled = decimals > 0 ? x * scale : x / scale, whole = round(scaled);
  // Where the scaled number overflows, x has no digits after the point.
  return where(is_finite(scaled), decimals > 0 ? whole / scale : whole * scale, x);
}
Value fmax(const Value& x, const Value& y) {
  return is_whole(x) && is_whole(y) ? maximum(x, y) : where(is_nan(x), y, where(is_nan(y), x, maximum(x, y)));
}
Value fmin(const Value& x, const Value& y) {
  return is_whole(x) && is_whole(y) ? minimum(x, y) : where(is_nan(x), y, where(is_nan(y), x, minimum(x, y)));
}

Value clamp_min(const Value& x, const Value& low) { return maximum(x, low); }
Value clamp_max(const Value& x, const Value& high) { return minimum(x, high); }
Value deg2rad(const Value& x) { return x * 0.017453292519943295; }
Value rad2deg(const Value& x) { return x * 57.29577951308232; }
Value float_power(const Value& x, const Value& y) { return pow(to_double(x), to_double(y)); }
Value powi(const Value& x, const Value& exponent) {
  require<DTypeError>(is_whole(exponent), "powi: needs a whole exponent, got ", exponent);
  return pow(x, exponent);
}
Value logit(const Value& x, double epsilon) {
  require<ArgumentError>(epsilon >= 0 && epsilon <= 0.5, "logit: epsilon ", epsilon, " is not between 0 and 0.5");
  return logit(clamp(x, epsilon, 1 - epsilon));
}
Value trigamma(const Value& x) { return polygamma(1, x); }

Value nan_to_num(const Value& x, double nan, std::optional<double> infinity, std::optional<double> negative_infinity) {
  if (is_whole(x)) return x;
  const double most = largest(x.is_scalar() ? DType::F64 : x.dtype());
  const Value numbers = where(is_nan(x), nan, x);
  const Value below = where(is_posinf(x), infinity.value_or(most), numbers);
  return where(is_neginf(x), negative_infinity.value_or(-most), below);
}
Value is_posinf(const Value& x) { return eq(x, kInfinity); }
Value is_neginf(const Value& x) { return eq(x, -kInfinity); }
Value contains_nan(const Value& x) { return any(is_nan(x)); }

Value is_close(const Value& x, const Value& y, double relative, double absolute, bool equal_nan) {
  require<ArgumentError>(relative >= 0 && absolute >= 0, "is_close: the tolerances ", relative, " and ", absolute,
                         " must not be negative");
  if (is_whole(x) && is_whole(y)) return is_close(to_double(x), to_double(y), relative, absolute);
  // The difference of two infinities is NaN and compares false. That of a number and an infinite y is infinite, as is
  // the tolerance, so y must be finite.
  const Value near = logical_and(le(abs(x - y), absolute + relative * abs(y)), is_finite(y));
  const Value close = logical_or(near, eq(x, y));
  return equal_nan ? logical_or(close, logical_and(is_nan(x), is_nan(y))) : close;
}
Value all_close(const Value& x, const Value& y, double relative, double absolute, bool equal_nan) {
  return all(is_close(x, y, relative, absolute, equal_nan));
}

Value lerp(const Value& any, const Value& other, const Value& share) {
  broadcast("lerp", broadcast("lerp", any.shape(), other.shape()), share.shape());
  const op::Steps steps{any, other, share};
  const Value x = steps.enter(any), y = steps.enter(other), weight = steps.enter(share);
  const Value whole = y - x, beyond = whole.is_scalar() ? Value() : is_inf(whole);
  const Value step = beyond ? where(beyond, 0.0, whole) : whole;
  // Starts from the nearer end, so that both ends are met exactly.
  const auto from_an_end = [&] {
    if (weight.is_scalar()) return weight.scalar().to<double>() < 0.5 ? x + step * weight : y - step * (1 - weight);
    const Value is_far = ge(weight, 0.5);
    return where(is_far, y, x) + step * (weight - cast(is_far, weight.dtype()));
  };
  // The distance between the ends may exceed the largest number.
  return steps.leave(beyond ? where(beyond, x * (1 - weight) + y * weight, from_an_end()) : from_an_end());
}
Value addcmul(const Value& x, const Value& a, const Value& b, const Value& scale) {
  if (is_whole(x) && is_whole(a) && is_whole(b) && is_whole(scale)) return x + a * b * scale;  // modulo 2^bits
  const op::Steps steps{x, a, b, scale};
  return steps.leave(steps.enter(x) + steps.enter(a) * steps.enter(b) * steps.enter(scale));
}
Value addcdiv(const Value& x, const Value& a, const Value& b, const Value& scale) {
  const op::Steps steps{x, a, b, scale};
  return steps.leave(steps.enter(x) + steps.enter(a) / steps.enter(b) * steps.enter(scale));
}

}  // namespace kiln
