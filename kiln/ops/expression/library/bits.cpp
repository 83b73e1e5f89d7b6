// Constants, the bits of numbers, and halves.
#include "kiln/ops/expression/library/library.hpp"

namespace kiln::expr {

const std::string_view kBitsText = R"(
fn infinity() -> float;
fn nan() -> float;
fn lowest() -> number;    // the least number; of floats minus infinity
fn highest() -> number;
fn width() -> integer;    // bits of a number

fn bits(x: f32) -> word;
fn from_bits(w: word) -> f32;
fn to_number(w: word) -> number;
fn to_word(x: number) -> word;  // of a whole number from 0 on
fn multiply_high(a: word, b: word) -> word {  // the upper half of a product: Knuth's algorithm M on halves
  let al = a & 0xffff;
  let ah = a >> 16;
  let bl = b & 0xffff;
  let bh = b >> 16;
  let low = al * bl;
  let middle = ah * bl + (low >> 16);
  let other = al * bh + (middle & 0xffff);
  return ah * bh + (middle >> 16) + (other >> 16);
}

fn is_nan(x: f32) -> bool = (bits(x) & 0x7fffffff) > 0x7f800000;
fn is_nan(x: f64) -> bool = x != x;
fn is_nan(x: integer) -> bool = false;
fn is_inf(x: f32) -> bool = (bits(x) & 0x7fffffff) == 0x7f800000;
fn is_inf(x: f64) -> bool = (x == infinity) | (x == -infinity);
fn is_finite(x: f32) -> bool = (bits(x) & 0x7fffffff) < 0x7f800000;
fn is_finite(x: f64) -> bool = (x < infinity) & (x > -infinity);
fn sign_bit(x: f32) -> bool = (bits(x) >> 31) != 0;
fn sign_bit(x: f64) -> bool;
fn sign_bit(x: signed) -> bool = x < 0;
fn sign_bit(x: unsigned) -> bool = false;
fn abs(x: float);
fn abs(x: signed) = select(x < 0, -x, x);
fn abs(x: unsigned) = x;
fn copysign(x: f32, y) = from_bits((bits(x) & 0x7fffffff) | (bits(y) & 0x80000000));
fn copysign(x: f64, y) = select(sign_bit(x) == sign_bit(y), x, -x);

// ---- halves, as kiln/core/half.hpp rounds them. A kernel may convert a hundred times, and compilers that copy a function to
// each call (SwiftShader's) get many blocks from a return in the middle: these have one return, and few branches.
fn small_f16(size: word) -> word {  // |x|, where float16 is subnormal, in units of 2^-24
  let far = 126 - (size >> 23);
  let shift = select(size < 0x32800000, 25, far);
  let mantissa = (size & 0x7fffff) | 0x800000;
  let kept = mantissa >> shift;
  let rest = mantissa & ((1 << shift) - 1);
  let up = rest + (kept & 1) > 1 << (shift - 1);
  return kept + select(up, 1, 0);
}
fn bits_of_f16(x: f32) -> word {
  let all = bits(x);
  let top = (all >> 16) & 0x8000;
  let size = all & 0x7fffffff;
  let rebased = size - 0x38000000;
  var near = (rebased + 0xfff + ((rebased >> 13) & 1)) >> 13;
  if (size < 0x38800000) { near = small_f16(size); }
  let bounded = select(size < 0x477ff000, near, 0x7c00);
  let whole = select(size > 0x7f800000, 0x7e00, bounded);
  return top | whole;
}
fn from_bits_of_f16(w: word) -> f32 {
  let top = (w & 0x8000) << 16;
  let exponent = (w >> 10) & 31;
  let normal = ((w & 0x7fff) << 13) + 0x38000000;
  let above = normal + 0x38000000;
  let large = select(exponent == 31, above, normal);
  let size: number = to_number(w & 0x3ff) * 5.9604644775390625e-8;
  let small = bits(size);
  let whole = select(exponent == 0, small, large);
  return from_bits(top | whole);
}
// from_bits_of_f16(bits_of_f16(x)) in two thirds of the instructions: SwiftShader compiles a hundred of these in 0.53 s, of
// those in 0.69.
fn round_to_f16(x: f32) {
  let all = bits(x);
  let top = all & 0x80000000;
  let size = all & 0x7fffffff;
  var near = (size + 0xfff + ((size >> 13) & 1)) & 0xffffe000;
  if (size < 0x38800000) {
    let units: number = to_number(small_f16(size)) * 5.9604644775390625e-8;
    near = bits(units);
  }
  let bounded = select(size < 0x477ff000, near, 0x7f800000);
  let whole = select(size > 0x7f800000, 0x7fc00000, bounded);
  return from_bits(top | whole);
}
fn bits_of_bf16(x: f32) -> word {
  let all = bits(x);
  let quiet = (all >> 16) | 0x40;
  let near = (all + 0x7fff + ((all >> 16) & 1)) >> 16;
  return select((all & 0x7fffffff) > 0x7f800000, quiet, near);
}
fn from_bits_of_bf16(w: word) -> f32 = from_bits(w << 16);
fn round_to_bf16(x: f32) = from_bits_of_bf16(bits_of_bf16(x));
// The float32 next to a float64, and back; and the one that rounds to halves as x does: its last bit is set where bits
// were lost.
fn bits_of_float(x: f64) -> word;
fn from_bits_of_float(w: word) -> f64;
fn bits_of_odd_float(x: f64) -> word {
  let nearest = bits_of_float(x);
  let back: number = from_bits_of_float(nearest);
  if ((back == x) | is_nan(x) | ((nearest & 1) == 1)) { return nearest; }
  if (abs(back) > abs(x)) { return nearest - 1; }
  return nearest + 1;
}
// What is left of a number in the low bits of an int32.
fn to_i8(x: i32) = (x << 24) >> 24;
fn to_u8(x: i32) = x & 255;
fn to_i16(x: i32) = (x << 16) >> 16;
fn to_u16(x: i32) = x & 65535;
fn to_bool(x: i32) = select(x != 0, 1, 0);
// An integer that float32 holds, and that rounds to halves as x does: its last bit is set where bits were lost. What is
// kept has 17 bits at least where any are lost, and halves have 11. GPUs divide 64-bit integers in a hundred steps.
fn round_to_odd(x: integer) {
  var kept = x;
  var lost = 0;  // bits
  while ((kept >= 16777216) | (kept + 16777216 < 0)) {
    kept = kept >> 8;
    lost = lost + 8;
  }
  return select(kept << lost == x, x, (kept | 1) << lost);
}
)";

}  // namespace kiln::expr
