// The incomplete Gamma and Beta functions and Hurwitz's zeta function (special/gamma.cpp has their definitions and formulas).
#include "kiln/ops/expression/library/library.hpp"

namespace kiln::expr {

const std::string_view kIncompleteText = R"(
// mu - log(1 + mu)
fn log_excess(mu: float) {
  if ((mu > 0.5) | (mu < -0.5)) { return mu - log1p(mu); }
  let s = mu / (2 + mu);
  let square = s * s;
  var sum = 0;
  var power = 2 * s * square;
  var k = 3;
  while (abs(power) > 1e-17 * abs(sum)) {
    sum = sum + power / k;
    power = power * square;
    k = k + 2;
  }
  return s * mu - sum;
}
// Gamma(x) for x from 0 to 20
fn gamma_of_small(x: float) {
  var product = 1;
  var rest = x;
  while (rest > 2) {
    product = product * (rest - 1);
    rest = rest - 1;
  }
  if (rest < 1) { return exp(lgamma_near_one(rest)) / rest; }
  return product * exp(lgamma_near_one(rest - 1));
}
// log Gamma(a) without the first terms of Stirling's series
fn stirling_rest(a: float) {
  if (a < 10) { return lgamma_above_zero(a) - ((a - 0.5) * log(a) - a + 0.9189385332046727); }
  return poly(1 / (a * a), 0.00641025641025641, -0.0019175269175269176, 0.0008417508417508417, -0.0005952380952380953,
              0.0007936507936507937, -0.002777777777777778, 0.08333333333333333) / a;
}
// x^a exp(-x) / Gamma(a)
fn last_factor(a: float, x) {
  if (a < 10) {  // in two halves, as exp(-x) leaves float32 before the result does
    let root = pow(x, a * 0.5) * exp(x * -0.5);
    return root * root / gamma_of_small(a);
  }
  return sqrt(a * 0.15915494309189535) * exp(-a * log_excess((x - a) / a) - stirling_rest(a));
}
fn lower_series(a: float, x) {
  var sum = 1;
  var term = 1;
  var n = 1;
  while (term > 1e-17 * sum) {
    term = term * (x / (a + n));
    sum = sum + term;
    n = n + 1;
  }
  return last_factor(a, x) / a * sum;
}
fn rounding(x: f64) = 1e-16;
fn rounding(x: f32) = 1.2e-7;
fn upper_fraction(a: float, x) {
  var b = x + 1 - a;
  var c = 1e30;
  var d = 1 / b;
  var value = d;
  var n = 1;
  while (n < 100000) {
    let numerator = -n * (n - a);
    b = b + 2;
    d = 1 / (numerator * d + b);
    c = b + numerator / c;
    value = value * (c * d);
    n = select(abs(c * d - 1) < rounding(x), 100000, n + 1);
  }
  return last_factor(a, x) * value;
}
fn upper_series(a: float, x) {
  var sum = 0;
  var term = 1;
  var n = 1;
  while ((n < 100) & (abs(term) > 1e-17 * abs(sum))) {
    term = term * (-x / n);
    sum = sum + term / (a + n);
    n = n + 1;
  }
  var log_gamma = 0;
  if (a < 1) { log_gamma = lgamma_near_one(a); } else { log_gamma = lgamma_above_zero(1 + a); }
  let log_first = a * log(x) - log_gamma;
  return -expm1(log_first) - exp(log_first) * a * sum;
}
// Temme's expansion for large a and x near it: the share above x, or that below.
fn near_large(a: float, mu, upper: bool) {
  let excess = log_excess(mu);
  let eta = copysign(sqrt(2 * excess), mu);
  let row0 = poly(eta, 6.7078535434014986e-9, -1.7665952736826079e-7, 8.296711340953086e-7, -1.85406221071516e-6,
                  -2.1854485106799922e-6, 3.9192631785224378e-5, -0.00017875514403292181, 0.0003527336860670194,
                  0.0011574074074074074, -0.014814814814814815, 0.083333333333333333, -0.33333333333333333);
  let row1 = poly(eta, 7.6491609160811101e-6, -1.8098550334489978e-5, -4.0187757201646091e-7, 0.00020576131687242798,
                  -0.00099022633744855967, 0.0026455026455026455, -0.0034722222222222222, -0.0018518518518518519);
  let row2 = poly(eta, 5.2923448829120125e-5, -0.00010736653226365161, 2.0093878600823045e-6, 0.00077160493827160494,
                  -0.0026813271604938272, 0.0041335978835978836);
  let row3 = poly(eta, 0.00026772063206283885, -0.00046918949439525571, 0.00022947209362139918,
                  0.00064943415637860082);
  let row4 = poly(eta, 0.00078403922172006663, -0.0008618882909167117);
  let sum = (((row4 / a + row3) / a + row2) / a + row1) / a + row0;
  let rest = exp(-a * excess) / sqrt(6.283185307179586 * a) * sum;
  let z = eta * sqrt(a * 0.5);
  return select(upper, 0.5 * erfc(z) + rest, 0.5 * erfc(-z) - rest);
}
fn incomplete_gamma(a: float, x, upper: bool) {
  if (!((a >= 0) & (x >= 0)) | ((a == 0) & (x == 0)) | (is_inf(a) & is_inf(x))) { return nan; }
  if ((x == 0) | is_inf(a)) { return select(upper, 1, 0); }
  if ((a == 0) | is_inf(x) | ((x > 10000) & (x > 2 * a))) { return select(upper, 0, 1); }
  let mu = (x - a) / a;
  if ((a >= 1000) & (abs(mu) < 0.2)) { return near_large(a, mu, upper); }
  if (x <= 1.1) {
    var lower = 1.1 * x < a;
    if (x <= 0.5) { lower = -0.4 / log(x) < a; }
    if (!lower & upper) { return upper_series(a, x); }
  } else if (x >= a + 1) {
    let above = upper_fraction(a, x);
    return select(upper, above, 1 - above);
  }
  let below = lower_series(a, x);
  return select(upper, 1 - below, below);
}
fn igamma(a: float, x) = incomplete_gamma(a, x, false);
fn igammac(a: float, x) = incomplete_gamma(a, x, true);

// mu - log(ratio), where ratio is 1 + mu
fn excess_of(mu: float, ratio) {
  if (abs(mu) > 0.5) { return mu - log(ratio); }
  return log_excess(mu);
}
// The incomplete Beta function below its mean; y is 1 - x.
fn lower_beta(a: float, b, x, y) {
  let sum = a + b;
  let away = x * b - y * a;
  let exponent = stirling_rest(sum) - stirling_rest(a) - stirling_rest(b) - a * excess_of(away / a, x * (sum / a)) -
                 b * excess_of(-away / b, y * (sum / b));
  let factor = exp(exponent) * sqrt(b / sum * 0.15915494309189535) / sqrt(a);
  var c = 1;
  var d = 1 / (1 - sum * x / (a + 1));
  var value = d;
  var m = 1;
  while (m < 100000) {
    let even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / (1 + even * d);
    c = 1 + even / c;
    value = value * (c * d);
    let odd = -(a + m) * (sum + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / (1 + odd * d);
    c = 1 + odd / c;
    value = value * (c * d);
    m = select(abs(c * d - 1) < rounding(x), 100000, m + 1);
  }
  return factor * value;
}
fn betainc(a: float, b, x) {
  if (!((a >= 0) & (b >= 0) & (x >= 0) & (x <= 1)) | ((a == 0) & (b == 0)) | (is_inf(a) & is_inf(b))) { return nan; }
  if ((a == 0) | is_inf(b)) { return select((a == 0) | (x > 0), 1, 0); }
  if ((b == 0) | is_inf(a)) { return select(x < 1, 0, 1); }
  if ((x == 0) | (x == 1)) { return x; }
  // One call, as compilers of shaders put the whole of it in each place.
  let low = x <= (a + 1) / (a + b + 2);
  let share = lower_beta(select(low, a, b), select(low, b, a), select(low, x, 1 - x), select(low, 1 - x, x));
  return select(low, share, 1 - share);
}

// The sum over k >= 0 of (q + k)^-s for q > 0
fn positive_zeta(s: float, q) {
  if (is_inf(q)) { return 0; }
  let first = pow(q, -s);
  if (is_inf(first)) { return first; }
  var sum = 0;
  var a = q;
  var term = 1;
  while ((a < 10 + s) & (term > 1e-17 * sum)) {
    term = pow(q / a, s);
    sum = sum + term;
    a = a + 1;
  }
  let rest = pow(q / a, s);
  if (rest > 1e-34) { return first * (sum + rest * zeta_tail(s, a)); }
  return first * sum;
}
fn zeta(s: float, q) {
  if (is_nan(s) | is_nan(q) | (s < 1)) { return nan; }
  if (s == 1) { return infinity; }
  if (q <= 0) {
    if (is_inf(q)) { return nan; }
    let above = q - floor(q);
    if (above == 0) { return infinity; }
    if ((s != floor(s)) | is_inf(s)) { return nan; }
    let below = positive_zeta(s, 1 - above) - positive_zeta(s, 1 - q);
    return positive_zeta(s, above) + select(floor(s * 0.5) * 2 == s, below, -below);
  }
  if (is_inf(s)) { return select(q > 1, 0, select(q < 1, infinity, 1)); }
  return positive_zeta(s, q);
}
)";

}  // namespace kiln::expr
