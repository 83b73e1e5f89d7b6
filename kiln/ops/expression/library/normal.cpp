// Functions of the normal distribution (special/normal.cpp has their definitions and formulas).
#include "kiln/ops/expression/library/library.hpp"

namespace kiln::expr {

const std::string_view kNormalText = R"(
// exp(factor * x^2): the square in two pieces, the first of which is exact.
fn exp_of_square(x: f32, factor) {
  let coarse = from_bits(bits(x) & 0xfffff000);
  return exp(factor * coarse * coarse) * exp(factor * (x - coarse) * (x + coarse));
}
fn exp_of_square(x: f64, factor) {
  let wide = x * 134217729;
  let coarse = wide - (wide - x);
  return exp(factor * coarse * coarse) * exp(factor * (x - coarse) * (x + coarse));
}
fn erfcx_far(x: float) {
  let s = 0.5 / (x * x);
  return 0.5641895835477563 / x * (1 - s * (1 - s * (3 - s * (15 - s * (105 - s * (945 - s * 10395))))));
}
fn erfcx_above_zero(x: f64) {
  if (x < 26) { return exp_of_square(x, 1) * erfc(x); }
  return erfcx_far(x);
}
fn erfcx_above_zero(x: f32) {
  if (x < 0.5) { return exp(x * x) * (1 - erf(x)); }
  if (x >= 8) { return erfcx_far(x); }
  // The polynomial is that of erfc, whose other factor is exp(-x^2).
  let t = 2 / (2 + x);
  let u = (t - 0.4986338797814208) * 2.9877551020408164;
  return t * exp(poly(u, 1.32163998e-05, -8.74525806e-06, -0.000136321502, 0.000163737409, 0.00118019453,
                      -0.00200693688, -0.01403362, 0.0213863885, 0.450092741, -0.673631554));
}
fn erfcx(x: float) {
  if (is_nan(x)) { return x; }
  if (x >= 0) { return erfcx_above_zero(x); }
  if (x < -27) { return infinity; }
  return 2 * exp_of_square(x, 1) - erfcx_above_zero(-x);
}
fn ndtr(x: float) {
  if (!(x < -1)) { return 0.5 * erfc(-x * 0.7071067811865476); }
  if (x < -40) { return 0; }
  return 0.5 * erfcx_above_zero(-x * 0.7071067811865476) * exp_of_square(x, -0.5);
}
fn log_ndtr(x: float) {
  if (x < -1) { return log(0.5 * erfcx_above_zero(-x * 0.7071067811865476)) - 0.5 * x * x; }
  return log1p(-ndtr(-x));
}
fn lower_ndtri(share: float) {
  if (share >= 0.1) { return erfinv(2 * share - 1) * 1.4142135623730951; }
  let wanted = log(share);
  var x = -sqrt(-2 * wanted);
  var step = 0;
  while (step < 20) {
    let change = (wanted - log_ndtr(x)) * erfcx_above_zero(-x * 0.7071067811865476) * 1.2533141373155003;
    x = x + change;
    step = select(abs(change) > 1e-16 * abs(x), step + 1, 20);
  }
  return x;
}
fn ndtri(share: float) {
  if (!((share > 0) & (share < 1))) {
    return select(share == 0, -infinity, select(share == 1, infinity, nan));
  }
  if (share > 0.9) { return -lower_ndtri(1 - share); }
  return lower_ndtri(share);
}
)";

}  // namespace kiln::expr
