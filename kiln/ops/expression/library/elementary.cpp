// Exponentials, logarithms, trigonometric and hyperbolic functions, and powers.
#include "kiln/ops/expression/library/library.hpp"

namespace kiln::expr {

const std::string_view kElementaryText = R"(
fn exp(x: float);
fn exp2(x: float);
fn log(x: float);
fn log2(x: float);
fn log10(x: float) = log(x) * 0.4342944819032518;
// ---- Sines where a device has none that is accurate: Vulkan and WebGPU allow errors of 2^-11, and say nothing of arguments
// beyond pi. The series are those of Cephes (Moshier, sinf.c), for up to half a quarter turn.
fn two_over_pi(index: word) -> word {  // bits of 2/pi, 32 a word, after a word of zeros
  var part: word = 0;
  if (index == 1) { part = 0xa2f9836e; }
  if (index == 2) { part = 0x4e441529; }
  if (index == 3) { part = 0xfc2757d1; }
  if (index == 4) { part = 0xf534ddc0; }
  if (index == 5) { part = 0xdb629599; }
  if (index == 6) { part = 0x3c439041; }
  if (index == 7) { part = 0xfe5163ab; }
  return part;
}
fn window_of_two_over_pi(index: word, shift: word) -> word =
    (two_over_pi(index) << shift) | ((two_over_pi(index + 1) >> 1) >> (31 - shift));
// The sine of |x| and some quarter turns: sin(|x|) for 0, cos(x) for 1.
fn sine_from(x: f32, turns: word) -> f32 {
  let size = abs(x);
  var quarter = turns;
  var rest = size;
  if (size < 8192) {  // the first three products are exact (Cody and Waite)
    let whole = floor(size * 0.6366197723675814 + 0.5);
    quarter = quarter + to_word(whole);
    rest = size - whole * 1.5703125 - whole * 4.837512969970703e-4 - whole * 7.549533620476723e-8;
    rest = rest - whole * 2.563344151594519e-12;
  } else {  // the product of 24 bits and the 96 of 2/pi that count, modulo whole turns (Payne and Hanek)
    let all = bits(size);
    let skipped = (all >> 23) - 120;
    let index = skipped >> 5;
    let shift = skipped & 31;
    let mantissa = (all & 0x7fffff) | 0x800000;
    let first = window_of_two_over_pi(index, shift);
    let second = window_of_two_over_pi(index + 1, shift);
    let third = window_of_two_over_pi(index + 2, shift);
    let product = mantissa * second;
    let low = product + multiply_high(mantissa, third);
    let high = mantissa * first + multiply_high(mantissa, second) + select(low < product, 1, 0);
    let back = (high & 0x20000000) != 0;
    quarter = quarter + (high >> 30) + select(back, 1, 0);
    let far = select(back, ~high, high) & 0x3fffffff;
    let near = select(back, ~low, low);
    let part = to_number(far) * 9.313225746154785e-10 + to_number(near) * 2.168404344971009e-19;
    rest = select(back, -part, part) * 1.5707963267948966;
  }
  if (!is_finite(x)) { return nan; }
  let square = rest * rest;
  let sine = rest + rest * square * poly(square, -1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1);
  let cosine = 1 - 0.5 * square +
               square * square * poly(square, 2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2);
  let value = select((quarter & 1) != 0, cosine, sine);
  return select((quarter & 2) != 0, -value, value);
}
fn sin(x: f32) {
  let value = sine_from(x, 0);
  return select(sign_bit(x), -value, value);
}
fn sin(x: f64);
fn cos(x: f32) = sine_from(x, 1);
fn cos(x: f64);
fn tan(x: f32) = sin(x) / cos(x);
fn tan(x: f64);
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
