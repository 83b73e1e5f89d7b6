// Parts and neighbours of numbers, and greatest common divisors (special/numbers.cpp).
#include "kiln/ops/expression/library/library.hpp"

namespace kiln::expr {

const std::string_view kNumbersText = R"(
// The exponent of the mantissa in [0.5, 1), by powers of two, which are exact.
fn frexp_exponent(x: float) {
  if ((x == 0) | !is_finite(x)) { return 0; }
  var rest = abs(x);
  var exponent = 0;
  while (rest >= 4294967296) {
    rest = rest * 2.3283064365386963e-10;
    exponent = exponent + 32;
  }
  while (rest < 2.3283064365386963e-10) {
    rest = rest * 4294967296;
    exponent = exponent - 32;
  }
  while (rest >= 1) {
    rest = rest * 0.5;
    exponent = exponent + 1;
  }
  while (rest < 0.5) {
    rest = rest * 2;
    exponent = exponent - 1;
  }
  return exponent;
}
fn frexp_mantissa(x: float) {
  if ((x == 0) | !is_finite(x)) { return x; }
  var rest = x;
  while (abs(rest) >= 4294967296) { rest = rest * 2.3283064365386963e-10; }
  while (abs(rest) < 2.3283064365386963e-10) { rest = rest * 4294967296; }
  while (abs(rest) >= 1) { rest = rest * 0.5; }
  while (abs(rest) < 0.5) { rest = rest * 2; }
  return rest;
}
// x * 2^exponent, which has no more digits than x
fn times_power_of_two(x: float, exponent) {
  var value = x;
  var left = exponent;
  while (left > 0) {
    value = value * 2;
    left = left - 1;
  }
  while (left < 0) {
    value = value * 0.5;
    left = left + 1;
  }
  return value;
}
fn next_number(x: float, y, digits) {
  if (is_nan(x) | is_nan(y)) { return nan; }
  if (x == y) { return y; }
  let fraction = digits - 1;
  // The largest exponent of float64, of float16, and of the two types whose exponents have 8 bits.
  let largest = select(fraction == 52, 1023, select(fraction == 10, 15, 127));
  let smallest = 1 - largest - fraction;
  if (x == 0) { return copysign(times_power_of_two(1, smallest), y); }
  let size = abs(x);
  if (is_inf(x)) { return copysign(times_power_of_two(2 - times_power_of_two(1, -fraction), largest), x); }
  let outward = (y > x) == (x > 0);
  let mantissa_exponent = frexp_exponent(size);
  var spacing = mantissa_exponent - 1 - fraction;
  if (!outward & (times_power_of_two(0.5, mantissa_exponent) == size)) { spacing = spacing - 1; }
  let unit = times_power_of_two(1, max(spacing, smallest));
  return copysign(select(outward, size + unit, size - unit), x);
}
fn gcd(x: signed, y) {
  var a = x;
  var b = y;
  while (b != 0) {
    let rest = fmod(a, b);
    a = b;
    b = rest;
  }
  return select(a < 0, -a, a);
}
fn gcd(x: unsigned, y) {
  var a = x;
  var b = y;
  while (b != 0) {
    let rest = fmod(a, b);
    a = b;
    b = rest;
  }
  return a;
}
)";

}  // namespace kiln::expr
