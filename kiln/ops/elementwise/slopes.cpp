// The slopes that rows of elementwise.def name. Where a function has no slope, at a point or an edge, the result is a
// number all the same (0 in general), and so are its own gradients: the branch that is not chosen is computed from
// harmless numbers.
#include "kiln/ops/elementwise/slopes.hpp"

#include "kiln/ops/elementwise/precision.hpp"

namespace kiln {

namespace {

/// x clamped to a range beyond which a slope is 0 or 1 in every type: then no infinity is multiplied by 0.
Value bounded(const Value& x, double most) { return clamp(x, -most, most); }

}  // namespace

Value gelu_tanh_slope(const Value& far_x) {
  const Value x = bounded(far_x, 30);  // its powers, and those of the slope's own slope, are in float16's range
  const Value t = tanh((x + square(x) * x * 0.044715) * 0.7978845608028654);
  return (t + 1) * 0.5 + x * (1 - square(t)) * (square(x) * 0.134145 + 1) * 0.3989422804014327;
}
Value silu_slope(const Value& far_x) {
  const Value x = bounded(far_x, 1000);
  const Value s = sigmoid(x);
  return s * (x * (1 - s) + 1);
}
Value mish_slope(const Value& far_x) {
  const Value x = bounded(far_x, 1000);
  const Value w = tanh(softplus(x));
  return w + x * (1 - square(w)) * sigmoid(x);
}
Value smooth_l1_slope(const Value& x, const Value& y) { return where(lt(abs(x), y), x / y, sign(x)); }
Value i1_slope(const Value& x) {
  // Near 0 i1(x) runs out of digits; far from 0 both are infinite.
  const Value none = lt(abs(x), 1e-20), even = i0(x);
  const Value slope = even - i1(x) / where(none, 1.0, x);
  return where(none, 0.5, where(is_inf(even), even, slope));
}
Value sinc_slope(const Value& x) {
  // (cos(pi x) - sinc(x)) / x, and near 0, where that cancels, its power series.
  const Value near = lt(abs(x), 0.25), s = where(near, square(x), 0.0);
  Value series = -1.3148481279991995e-7;
  for (const double c : {4.0499478466192442e-6, -9.7662231263189327e-5, 0.001781145516372852, -0.023460810354558236,
                         0.2091827825412384, -1.1445109447325053, 3.2469697011334146, -3.2898681336964529})
    series = series * s + c;
  // cos has a period of 2 in x, which can be subtracted exactly; a large x times pi could not be reduced so.
  const Value turn = x - round(x * 0.5) * 2.0;
  return where(near, series * x, (cos(turn * 3.141592653589793) - sinc(x)) / where(near, 1.0, x));
}
Value xlogy_slope(const Value& x, const Value& y) {
  const Value none = logical_and(eq(x, 0), le(y, 0));
  return where(none, 0.0, log(where(none, 1.0, y)));
}
Value xlogy_y_derivative(const Value& x, const Value& y) { return x / where(logical_and(eq(x, 0), eq(y, 0)), 1.0, y); }
Value pow_slope(const Value& x, const Value& y) {
  const Value none = eq(y, 0);
  return where(none, 0.0, y * pow(where(none, 1.0, x), widened_for_sums(y) - 1));
}
Value pow_log(const Value& x, const Value& y, const Value& z) {
  const Value base = x.is_scalar() ? full({}, x.scalar(), z.device(), z.dtype()) : x;
  const Value none = logical_or(eq(z, 0), logical_and(eq(base, 0), ge(y, 0)));
  return where(none, 0.0, z * log(where(none, 1.0, base)));
}
Value angle_slope(const Value& x, const Value& y) {
  const Value none = logical_and(eq(x, 0), eq(y, 0)), length = hypot(where(none, 1.0, x), y);
  return y / length / length;  // the squares might be out of range
}
Value hypot_slope(const Value& x, const Value& z) { return x / where(eq(z, 0), 1.0, z); }
Value logaddexp_slope(const Value& x, const Value& y) {
  // The difference of equal infinities is NaN; it counts as 0.
  return sigmoid(where(logical_and(eq(x, y), is_inf(x)), 0.0, x - y));
}
Value larger_weight(const Value& x, const Value& y) {
  return where(gt(x, y), 1.0, cast(eq(x, y), x.is_scalar() ? y.dtype() : x.dtype()) * 0.5);
}

}  // namespace kiln
