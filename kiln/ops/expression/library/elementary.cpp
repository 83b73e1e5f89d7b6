// Exponentials, logarithms, trigonometric and hyperbolic functions, and powers.
#include "kiln/ops/expression/library/library.hpp"

namespace kiln::expr {

const std::string_view kElementaryText = R"(
fn exp(x: float);
fn exp2(x: float);
fn log(x: float);
fn log2(x: float);
fn log10(x: float) = log(x) * 0.4342944819032518;
fn sin(x: float);
fn cos(x: float);
fn tan(x: float);
fn asin(x: float);
fn acos(x: float);
fn atan(x: float);
fn expm1(x: float) {
  if (abs(x) < 0.5) {  // Taylor
    return x * poly(x, 1.1470745597729725e-11, 1.6059043836821613e-10, 2.08767569878681e-9, 2.505210838544172e-8,
                    2.755731922398589e-7, 2.7557319223985893e-6, 2.48015873015873e-5, 1.984126984126984e-4,
                    1.388888888888889e-3, 8.333333333333333e-3, 4.1666666666666664e-2, 0.16666666666666666, 0.5, 1);
  }
  return exp(x) - 1;
}
fn log1p(x: float) {
  if ((x > -0.3) & (x < 0.42)) {  // 2 artanh(x / (x + 2)), whose series has odd powers
    let s = x / (x + 2);
    let square = s * s;
    return s * poly(square, 0.08695652173913043, 0.09523809523809523, 0.10526315789473684, 0.11764705882352941,
                    0.13333333333333333, 0.15384615384615385, 0.18181818181818182, 0.2222222222222222,
                    0.2857142857142857, 0.4, 0.6666666666666666, 2);
  }
  return log(1 + x);
}
fn sinh(x: float) {
  let size = abs(x);
  if (size > 80) {
    let root = exp(size * 0.5);
    return copysign(0.5 * root * root, x);
  }
  let e = expm1(size);
  return copysign(0.5 * (e + e / (e + 1)), x);
}
fn cosh(x: float) {
  let root = exp(abs(x) * 0.5);
  return 0.5 * root * root + 0.5 / root / root;
}
fn tanh(x: float) {
  let e = expm1(-2 * abs(x));
  return copysign(e / (e + 2), x);
}
fn asinh(x: float) {
  let size = abs(x);
  if (size > 1000000000) { return copysign(log(size) + 0.6931471805599453, x); }
  let square = size * size;
  return copysign(log1p(size + square / (1 + sqrt(square + 1))), x);
}
fn acosh(x: float) {
  if (!(x >= 1)) { return nan; }
  if (x > 1000000000) { return log(x) + 0.6931471805599453; }
  let above = x - 1;
  return log1p(above + sqrt(2 * above + above * above));
}
fn atanh(x: float) {
  let size = abs(x);
  if (size == 1) { return copysign(infinity, x); }
  return copysign(0.5 * log1p(2 * size / (1 - size)), x);
}
fn atan2(x: float, y) {
  if (is_nan(x) | is_nan(y)) { return nan; }
  let opposite = abs(x);
  let adjacent = abs(y);
  let steep = opposite > adjacent;
  var ratio = select(opposite == 0, 0, 1);
  if (opposite != adjacent) { ratio = select(steep, adjacent, opposite) / select(steep, opposite, adjacent); }
  var angle = atan(ratio);
  if (steep) { angle = 1.5707963267948966 - angle; }
  if (sign_bit(y)) { angle = 3.141592653589793 - angle; }
  return copysign(angle, x);
}
fn pow(x: float, y) {
  if ((y == 0) | (x == 1)) { return 1; }
  if (is_nan(x) | is_nan(y)) { return nan; }
  let size = abs(x);
  let whole = floor(y) == y;
  let odd = whole & (floor(y * 0.5) != y * 0.5);
  let outside = (size == 0) | is_inf(size);
  var power = 1;
  if (outside | is_inf(y)) {
    if (size != 1) { power = select((y > 0) == (size > 1), infinity, 0); }
  } else if (whole & (abs(y) <= 16)) {
    let factor = select(y < 0, 1 / size, size);
    var rest = abs(y);
    while (rest > 0) {
      power = power * factor;
      rest = rest - 1;
    }
  } else {
    power = exp2(y * log2(size));
  }
  if (sign_bit(x)) {
    if (odd) { return -power; }
    if (!whole & !outside) { return nan; }
  }
  return power;
}
fn pow(x: signed, y) {
  if (y < 0) {
    if (x == 1) { return 1; }
    if (x == -1) { return select(y / 2 * 2 == y, 1, -1); }
    return 0;
  }
  var power = 1;
  var base = x;
  var rest = y;
  while (rest != 0) {
    if (rest / 2 * 2 != rest) { power = power * base; }
    base = base * base;
    rest = rest / 2;
  }
  return power;
}
fn pow(x: unsigned, y) {
  var power = 1;
  var base = x;
  var rest = y;
  while (rest != 0) {
    if (rest / 2 * 2 != rest) { power = power * base; }
    base = base * base;
    rest = rest / 2;
  }
  return power;
}
)";

}  // namespace kiln::expr
