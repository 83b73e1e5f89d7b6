// Rounding, comparison, division and integers.
#include "kiln/ops/expression/library/library.hpp"

namespace kiln::expr {

const std::string_view kArithmeticText = R"(
fn sqrt(x: float);
fn floor(x: float);
fn floor(x: integer) = x;
fn ceil(x: float);
fn ceil(x: integer) = x;
fn trunc(x: float);
fn trunc(x: integer) = x;
fn round(x: float);  // halves to even
fn round(x: integer) = x;

fn max(x: float, y) = select(is_nan(x) | (x > y), x, y);
fn max(x: integer, y) = select(x > y, x, y);
fn min(x: float, y) = select(is_nan(x) | (x < y), x, y);
fn min(x: integer, y) = select(x < y, x, y);
fn sign(x: float) = select(is_nan(x), x, select(x > 0, 1, select(x < 0, -1, 0)));
fn sign(x: signed) = select(x > 0, 1, select(x < 0, -1, 0));
fn sign(x: unsigned) = select(x > 0, 1, 0);

fn fmod(x: float, y) {
  let size = abs(y);
  var rest = abs(x);
  if (is_nan(y) | !is_finite(x) | (size == 0)) { return nan; }
  if (size > rest) { return x; }
  // Multiples of y by powers of two, which differences from are exact.
  var part = size;
  while (part <= rest * 0.5) { part = part * 2; }
  while (part >= size) {
    if (rest >= part) { rest = rest - part; }
    part = part * 0.5;
  }
  return copysign(rest, x);
}
fn fmod(x: signed, y) {
  if ((y == 0) | (y == -1)) { return 0; }
  return x - x / y * y;
}
fn fmod(x: unsigned, y) {
  if (y == 0) { return 0; }
  return x - x / y * y;
}
fn remainder(x: float, y) {
  let rest = fmod(x, y);
  return select((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest);
}
fn remainder(x: signed, y) {
  let rest = fmod(x, y);
  return select((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest);
}
fn remainder(x: unsigned, y) = fmod(x, y);
fn floor_divide(x: float, y) = floor(x / y);
fn floor_divide(x: signed, y) {
  if (y == 0) { return 0; }
  if (y == -1) { return -x; }
  let quotient = x / y;
  return select((quotient * y == x) | ((x < 0) == (y < 0)), quotient, quotient - 1);
}
fn floor_divide(x: unsigned, y) {
  if (y == 0) { return 0; }
  return x / y;
}
fn shift_left(x: signed, y) {
  if ((y < 0) | (y >= width)) { return 0; }
  return x << y;
}
fn shift_left(x: unsigned, y) {
  if (y >= width) { return 0; }
  return x << y;
}
fn shift_right(x: signed, y) {
  if ((y < 0) | (y >= width)) { return select(x < 0, -1, 0); }
  return x >> y;
}
fn shift_right(x: unsigned, y) {
  if (y >= width) { return 0; }
  return x >> y;
}
fn hypot(x: float, y) {
  let larger = max(abs(x), abs(y));
  let smaller = min(abs(x), abs(y));
  if (is_inf(x) | is_inf(y)) { return infinity; }
  if (is_nan(larger) | (larger == 0)) { return larger; }
  let ratio = smaller / larger;
  return larger * sqrt(1 + ratio * ratio);
}
)";

}  // namespace kiln::expr
