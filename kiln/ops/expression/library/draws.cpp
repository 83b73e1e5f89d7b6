// Sampling functions that consume as many random words as they need (create/draws.hpp names the methods), each from the
// stream of its element: e and f are the words of the element's number, k and l those of the key. A position in the
// stream is two words.
#include "kiln/ops/expression/library/library.hpp"

namespace kiln::expr {

// The parameters of functions that read a stream.
#define KILN_STREAM "e: word, f: word, k: word, l: word"
// A normal number x by Marsaglia's polar method, if p and q are inside the circle.
#define KILN_POLAR                                        \
  "let p = 2 * stream_uniform(e, f, k, l, at) - 1;\n"     \
  "let q = 2 * stream_uniform(e, f, k, l, at + 1) - 1;\n" \
  "at = at + 2;\n"                                        \
  "let s = p * p + q * q;\n"                              \
  "if (s < 1) {\n"                                        \
  "let x = p * sqrt(-2 * log(s) / s);\n"
// The logarithm of a sample of the Gamma distribution, from a position in the stream on, and the position after it.
#define KILN_LOG_GAMMA(name, gives, nothing, result)                                          \
  "fn " name "(shape: float, start: word, " KILN_STREAM ") -> " gives                         \
  " {\n"                                                                                      \
  "if (!(shape > 0) | is_inf(shape)) { return " nothing                                       \
  "; }\n"                                                                                     \
  "var at = start;\n"                                                                         \
  "var boost = 0;\n"                                                                          \
  "if (shape < 1) {\n"                                                                        \
  "  boost = log(stream_uniform(e, f, k, l, at)) / shape;\n"                                  \
  "  at = at + 1;\n"                                                                          \
  "}\n"                                                                                       \
  "let d = select(shape < 1, shape + 1, shape) - 0.3333333333333333;\n"                       \
  "let c = 1 / sqrt(9 * d);\n"                                                                \
  "var v = 1;\n"                                                                              \
  "var found = false;\n"                                                                      \
  "while (!found) {\n" KILN_POLAR                                                             \
  "    let root = 1 + c * x;\n"                                                               \
  "    if (root > 0) {\n"                                                                     \
  "      v = root * root * root;\n"                                                           \
  "      found = log(stream_uniform(e, f, k, l, at)) < x * x * 0.5 + d * (1 - v + log(v));\n" \
  "      at = at + 1;\n"                                                                      \
  "    }\n"                                                                                   \
  "  }\n"                                                                                     \
  "}\n"                                                                                       \
  "return " result                                                                            \
  ";\n"                                                                                       \
  "}\n"

const std::string_view kDrawText =
    "fn stream_word(" KILN_STREAM
    ", at: word, second: bool) -> word {\n"
    "var c0 = e;\n"
    "var c1 = f;\n"
    "var c2: word = 2;\n"
    "var c3 = at >> 1;\n" KILN_PHILOX_ROUNDS
    "if ((at & 1) == 1) { return select(second, c3, c2); }\n"
    "return select(second, c1, c0);\n"
    "}\n"
    "fn stream_uniform(" KILN_STREAM
    ", at: word) -> f32 = open_uniform(stream_word(e, f, k, l, at, false), 0);\n"
    "fn stream_uniform(" KILN_STREAM
    ", at: word) -> f64 =\n"
    "  open_uniform(stream_word(e, f, k, l, at, false), stream_word(e, f, k, l, at, true));\n"

    "fn draw_truncated_normal(a: float, b, " KILN_STREAM R"() {
  if (!(a <= b)) { return nan; }
  if (a == b) { return a; }
  var at: word = 0;
  var number = 0;
  var found = false;
  if ((a <= 0) & (b >= 0) & (b - a > 1)) {
    while (!found) {
)" KILN_POLAR R"(
        number = x;
        found = (a <= x) & (x <= b);
      }
    }
    return number;
  }
  let flips = (b < 0) | ((b == 0) & (a < 0));
  let low = select(flips, -b, a);
  let high = select(flips, -a, b);
  let peak = select(low > 0, low, 0);
  let rate = peak * 0.5 + hypot(peak * 0.5, 1);
  if ((low < 0) | ((high - low) * rate < 2)) {
    while (!found) {
      number = low + (high - low) * stream_uniform(e, f, k, l, at);
      found = -log(stream_uniform(e, f, k, l, at + 1)) > (number - peak) * (number + peak) * 0.5;
      at = at + 2;
    }
  } else {
    while (!found) {
      number = low - log(stream_uniform(e, f, k, l, at)) / rate;
      at = at + 1;
      if (number <= high) {
        found = -log(stream_uniform(e, f, k, l, at)) > (number - rate) * (number - rate) * 0.5;
        at = at + 1;
      }
    }
  }
  return select(flips, -number, number);
}
)" KILN_LOG_GAMMA("log_gamma_draw", "float", "select(shape > 0, shape, nan)", "log(d * v) + boost")
        KILN_LOG_GAMMA("place_behind_gamma", "word", "start", "at") "fn draw_gamma(a: float, b, " KILN_STREAM
                                                                    ") = exp(log_gamma_draw(a, 0, e, f, k, l));\n"
                                                                    "fn draw_beta(a: float, b, " KILN_STREAM R"() {
  let between = place_behind_gamma(a, 0, e, f, k, l);
  let x = log_gamma_draw(a, 0, e, f, k, l);
  let y = log_gamma_draw(b, between, e, f, k, l);
  if ((x == y) & is_inf(x)) {
    if (x > 0) { return 0.5; }
    let after = place_behind_gamma(b, between, e, f, k, l);
    return select(stream_uniform(e, f, k, l, after) * (a + b) < a, 1, 0);
  }
  return 1 / (1 + exp(y - x));
}
// mean - k + k log(k / mean)
fn poisson_deviance(k: float, mean) {
  let t = (k - mean) / mean;
  if (k == 0) { return mean; }
  if (abs(t) > 0.1) { return mean - k + k * log(k / mean); }
  var sum = 0;
  var power = t * t;
  var n = 2;
  while (n < 20) {
    sum = sum + power / (n * (n - 1));
    power = -power * t;
    n = n + 1;
  }
  return mean * sum;
}
fn log_poisson(k: float, mean) {
  if (k == 0) { return -mean; }
  let spread = log(6.283185307179586 * k) * 0.5;
  var rest = 1 / (12 * k) - 1 / (360 * k * k * k);
  if (k < 20) { rest = lgamma_above_zero(k + 1) - k * log(k) + k - spread; }
  return -poisson_deviance(k, mean) - spread - rest;
}
fn draw_poisson(a: float, b, )" KILN_STREAM R"() {
  if (!(a >= 0)) { return nan; }
  if (is_inf(a)) { return a; }
  var at: word = 0;
  var number = 0;
  if (a < 10) {
    let least = exp(-a);
    var product = stream_uniform(e, f, k, l, 0);
    while (product > least) {
      at = at + 1;
      product = product * stream_uniform(e, f, k, l, at);
      number = number + 1;
    }
    return number;
  }
  let spread = 0.931 + 2.53 * sqrt(a);
  let shift = -0.059 + 0.02483 * spread;
  let inverse_alpha = 1.1239 + 1.1328 / (spread - 3.4);
  let squeeze = 0.9277 - 3.6224 / (spread - 2);
  var found = false;
  while (!found) {
    let u = stream_uniform(e, f, k, l, at) - 0.5;
    let v = stream_uniform(e, f, k, l, at + 1);
    at = at + 2;
    let us = 0.5 - abs(u);
    number = floor((2 * shift / us + spread) * u + a + 0.43);
    found = (us >= 0.07) & (v <= squeeze);
    if (!found & (number >= 0) & ((us >= 0.013) | (v <= us))) {
      found = log(v * inverse_alpha / (shift / (us * us) + spread)) <= log_poisson(number, a);
    }
  }
  return number;
}
fn stream_number(e: word, f: word, k: word, l: word, at: word) -> u64 =
  to_number(stream_word(e, f, k, l, at, false)) * 4294967296 + to_number(stream_word(e, f, k, l, at, true));
// An integer of [a, b), which are the bits of two int64.
fn draw_integer(a: u64, b, )" KILN_STREAM R"() {
  let range = b - a;
  var at: word = 0;
  var number = stream_number(e, f, k, l, 0);
  if (range == 0) { return a + number; }
  let unfair = fmod(0 - range, range);
  while (number < unfair) {
    at = at + 1;
    number = stream_number(e, f, k, l, at);
  }
  return a + fmod(number, range);
}
// A number below the last running sum, a, of a row of weights.
fn draw_below(a: float, b, )" KILN_STREAM ") = stream_uniform(e, f, k, l, 0) * a;\n";

}  // namespace kiln::expr
