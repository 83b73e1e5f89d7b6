// Random words and the numbers computed from them.
#include "kiln/ops/expression/library/library.hpp"

namespace kiln::expr {

const std::string_view kRandomText = R"(
// Philox 4x32-10 (random.hpp)
fn philox(a: word, b: word, c: word, d: word, k: word, l: word) -> word, word, word, word {
  var c0 = a;
  var c1 = b;
  var c2 = c;
  var c3 = d;
)" KILN_PHILOX_ROUNDS R"(  return c0, c1, c2, c3;
}
// [0, 1): from one word, or from two (v is the second) where a number holds what they say.
fn uniform(w: word, v: word) -> f32 = to_number(w >> 8) * 5.9604644775390625e-8;
fn uniform(w: word, v: word) -> f64 = (to_number(w) * 2097152 + to_number(v >> 11)) * 1.1102230246251565e-16;
// uniform() without the ends of its range. In float32 the words that lie closest to 1 are taken a step further from it.
fn open_uniform(w: word, v: word) -> f32 = min((to_number(w) + 0.5) * 2.3283064365386963e-10, 0.99999994039535522);
fn open_uniform(w: word, v: word) -> f64 = (to_number(w) * 1048576 + to_number(v >> 12) + 0.5) * 2.220446049250313e-16;
// A number of [low, high) from one of [0, 1), also where rounding would reach the upper end.
fn next_below(x: f32) {
  if (x == 0) { return from_bits(0x80000001); }
  return from_bits(select(x > 0, bits(x) - 1, bits(x) + 1));
}
fn between(low: f64, high, unit) = low + unit * (high - low);
fn between(low: f32, high, unit) {
  let value = low + unit * (high - low);
  return select((high > low) & (value >= high), next_below(high), value);
}
)";

}  // namespace kiln::expr
