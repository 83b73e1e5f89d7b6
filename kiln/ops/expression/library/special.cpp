// The error and Gamma functions and related ones. Sources and errors are in special/special_math.hpp, unless given
// here.
#include "kiln/ops/expression/library/library.hpp"

namespace kiln::expr {

const std::string_view kSpecialText = R"(
fn erf(x: f64);
fn erf(x: f32) {  // the minimax polynomial of the processor's kernels
  let t = min(max(x, -3.86), 3.86);
  let u = t * t * 0.135135129 - 1;
  let p = poly(u, -0.000570382457, 0.00152170181, -0.00125893927, 0.00181147386, -0.00625318429, 0.0120458836,
               -0.0180448666, 0.0275852922, -0.0410998464, 0.0565364286, -0.0731205493, 0.0907918364, -0.110436134,
               0.136302397, -0.183436871, 0.117563374);
  return p * t + 0.25 * t;
}
fn erfc(x: f64);
fn erfc(x: f32) {
  let size = abs(x);
  if (size < 0.5) { return 1 - erf(x); }
  if (is_nan(x)) { return x; }
  if (size > 11) { return select(x > 0, 0, 2); }
  // erfc(x) = t exp(P(t) - x^2) with t = 2 / (2 + x): P is a Chebyshev fit, error 2e-9. The square goes in two pieces,
  // the first of which is exact.
  let t = 2 / (2 + size);
  let u = (t - 0.4986338797814208) * 2.9877551020408164;
  let p = poly(u, 1.32163998e-05, -8.74525806e-06, -0.000136321502, 0.000163737409, 0.00118019453, -0.00200693688,
               -0.01403362, 0.0213863885, 0.450092741, -0.673631554);
  let coarse = from_bits(bits(size) & 0xfffff000);
  let tail = t * (exp(-coarse * coarse) * exp(p - (size - coarse) * (size + coarse)));
  return select(x > 0, tail, 2 - tail);
}
fn sin_pi(x: float) {
  let whole = round(x);
  let sine = sin(3.141592653589793 * (x - whole));
  return select(floor(whole * 0.5) * 2 == whole, sine, -sine);
}
fn lgamma_near_one(d: float) {
  if (d < 0.25) {
    let t = (d + 0.125) / 0.375;
    return d * (d - 1) *
           poly(t, 9.581263171706415e-11, -2.215592689847975e-10, -6.166438057562876e-11, 8.297953717727516e-11,
                1.45584570140694e-09, -3.3864820716806023e-09, 5.659376077771604e-09, -1.4193675738193682e-08,
                3.774074978833564e-08, -9.318810376150095e-08, 2.297408410971099e-07, -5.735628682055854e-07,
                1.439355747697608e-06, -3.630149170161948e-06, 9.21577264493051e-06, -2.3580211563493196e-05,
                6.0908936785561436e-05, -0.00015919690611623094, 0.0004224498075844471, -0.001144148019835524,
                0.0031906505245144928, -0.009310990727084896, 0.029399113110686364, -0.10887616767481847,
                0.6105508069357107);
  }
  let t = (d - 0.625) / 0.375;
  return d * (d - 1) *
         poly(t, -4.862886820469937e-13, 2.1924630196941468e-12, -7.848127507611836e-12, 3.6220722616649965e-11,
              -1.7138180713596114e-10, 7.945344911997794e-10, -3.6993563289066404e-09, 1.7349671972308386e-08,
              -8.196989756312653e-08, 3.9078185484839975e-07, -1.8844838108824608e-06, 9.22504595696076e-06,
              -4.609235994101707e-05, 0.00023714482239523048, -0.0012758784836501206, 0.0073939818122483875,
              -0.04934212173256273, 0.46580963736232694);
}
fn lgamma_above_zero(x: float) {
  if (x < 0.5) { return lgamma_near_one(x) - log(x); }
  if (x >= 10) {
    let s = 1 / (x * x);
    let tail = poly(s, -0.029550653594771242, 0.00641025641025641, -0.0019175269175269176, 0.0008417508417508417,
                    -0.0005952380952380953, 0.0007936507936507937, -0.002777777777777778, 0.08333333333333333);
    return (x - 0.5) * log(x) - x + 0.9189385332046727 + tail / x;
  }
  var product = 1;
  var rest = x;
  while (rest > 2) {
    product = product * (rest - 1);
    rest = rest - 1;
  }
  return lgamma_near_one(rest - 1) + log(product);
}
fn lgamma(x: float) {
  if (!is_finite(x)) { return x * x; }
  if (x == 0) { return infinity; }
  if (abs(x) < 0.5) { return lgamma_near_one(x) - log(abs(x)); }
  if (x > 0) { return lgamma_above_zero(x); }
  let sine = abs(sin_pi(x));
  if (sine == 0) { return infinity; }
  return log(3.141592653589793 / (-x * sine)) - lgamma_above_zero(-x);
}
fn digamma_above_zero(x: float) {
  if (x >= 10) {
    let s = 1 / (x * x);
    let tail = poly(s, 0.08333333333333333, -0.021092796092796094, 0.007575757575757576, -0.004166666666666667,
                    0.003968253968253968, -0.008333333333333333, 0.08333333333333333);
    return log(x) - 0.5 / x - tail * s;
  }
  var sum = 0;
  var rest = x;
  while (rest > 2) {
    sum = sum + 1 / (rest - 1);
    rest = rest - 1;
  }
  while (rest < 1) {
    sum = sum - 1 / rest;
    rest = rest + 1;
  }
  let t = 2 * rest - 3;
  let fit = poly(t, 2.478695345606839e-10, -7.223491003007321e-10, 8.657533672812613e-10, -2.703662231927563e-09,
                 1.1039363482759935e-08, -3.289430573852927e-08, 9.500659034300503e-08, -2.8533931229297597e-07,
                 8.59134317611421e-07, -2.578570146188502e-06, 7.741156049273805e-06, -2.3258097015958563e-05,
                 6.995020506384849e-05, -0.00021074843810682485, 0.0006368880282849916, -0.001935066662163103,
                 0.005936795278436479, -0.018550615381859925, 0.060135621060193475, -0.2118137106407286,
                 0.951055876031833);
  // The zero in two pieces, the first of which float32 holds, so that what is left keeps its digits.
  return fit * ((rest - 1.46163213253021240234375) - 1.2438149938918909e-8) + sum;
}
fn digamma(x: float) {
  if (x == 0) { return copysign(infinity, -x); }
  if (is_nan(x)) { return x; }
  if (x > 0) { return digamma_above_zero(x); }
  let rest = x - round(x);
  if ((rest == 0) | is_inf(x)) { return nan; }
  return digamma_above_zero(1 - x) - 3.141592653589793 / tan(3.141592653589793 * rest);
}
// What a sum over k of (a + k)^-s is to its first term, by Euler's and Maclaurin's formula.
fn zeta_tail(s: float, a) {
  // Bernoulli's numbers over factorials
  let r = 1 / (a * a);
  var factor = s / a;
  var tail = 0.5 + a / (s - 1) + factor * 0.08333333333333333;
  factor = factor * (s + 1) * (s + 2) * r;
  tail = tail - factor * 0.001388888888888889;
  factor = factor * (s + 3) * (s + 4) * r;
  tail = tail + factor * 3.306878306878307e-05;
  factor = factor * (s + 5) * (s + 6) * r;
  tail = tail - factor * 8.267195767195768e-07;
  factor = factor * (s + 7) * (s + 8) * r;
  tail = tail + factor * 2.08767569878681e-08;
  factor = factor * (s + 9) * (s + 10) * r;
  tail = tail - factor * 5.284190138687493e-10;
  factor = factor * (s + 11) * (s + 12) * r;
  tail = tail + factor * 1.3382536530684679e-11;
  factor = factor * (s + 13) * (s + 14) * r;
  tail = tail - factor * 3.3896802963225827e-13;
  return tail;
}
fn gamma_zeta(s: float, x) {
  var sum = 0;
  var a = x;
  while (a < 10 + 2 * s) {
    sum = sum + pow(x / a, s);
    a = a + 1;
  }
  sum = sum + pow(x / a, s) * zeta_tail(s, a);
  // Gamma(s), s whole, times x^-s: in two pieces, and by logarithms where one of them is out of range
  var gamma = 1;
  var k = 2;
  while ((k < s) & is_finite(gamma)) {
    gamma = gamma * k;
    k = k + 1;
  }
  let root = pow(x, -s * 0.5);
  if (is_finite(gamma) & (root > 1e-30) & is_finite(root)) { return sum * gamma * root * root; }
  let half_way = exp((lgamma_above_zero(s) - s * log(x)) * 0.5);
  return sum * half_way * half_way;
}
fn polygamma(n: float, x) {
  if (!((n >= 0) & (n <= 1000)) | (n != floor(n)) | is_nan(x)) { return nan; }
  if (n == 0) { return digamma(x); }
  let s = n + 1;
  let odd = floor(n * 0.5) * 2 != n;
  if (is_inf(x)) { return select(x > 0, select(odd, 0, -0.0), nan); }
  if (x > 0) {
    let value = gamma_zeta(s, x);
    return select(odd, value, -value);
  }
  let rest = -x - floor(-x);
  if (rest == 0) {
    if (odd) { return infinity; }
    return select(x == 0, copysign(infinity, -x), nan);
  }
  // The terms of the sum that lie below 0 are a finite piece of another such sum.
  let above = gamma_zeta(s, 1 - rest);
  let first = gamma_zeta(s, rest);
  if (is_inf(above) | is_inf(first)) {
    return select(odd | (rest < 0.5), infinity, select(rest == 0.5, 0, -infinity));
  }
  let below = first - gamma_zeta(s, 1 - x);
  return select(odd, above + below, below - above);
}
fn erfinv(x: float) {
  let size = abs(x);
  if (size == 1) { return copysign(infinity, x); }
  if (!(size < 1)) { return nan; }
  let l = log1p(-x * x);
  let b = 4.330746750799873 + l * 0.5;  // Winitzki's, with a = 0.147
  let c = -l * 6.802721088435375;
  var y = sqrt(c / (sqrt(b * b + c) + b));
  var step = 0;
  while (step < 3) {
    var error = 0;
    if (size < 0.5) {
      error = erf(y) - size;
    } else {
      error = (1 - size) - erfc(y);
    }
    let newton = error * 0.886226925452758 * exp(y * y);
    y = y - newton / (1 + y * newton);
    step = step + 1;
  }
  return copysign(y, x);
}
fn bessel_i(order: float, x) {
  let size = abs(x);
  var sum = 1;
  var term = 1;
  var k = 1;
  if (size < 20) {
    while (term > 1e-18 * sum) {
      term = term * (size * size / (4 * k * (k + order)));
      sum = sum + term;
      k = k + 1;
    }
    return select(order == 0, sum, sum * x * 0.5);
  }
  if (!is_finite(x)) { return select(order == 0, size, x); }
  while ((k < 40) & (abs(term) > 1e-18)) {
    term = term * (((2 * k - 1) * (2 * k - 1) - 4 * order) / (8 * k * size));
    sum = sum + term;
    k = k + 1;
  }
  // Two factors: the result overflows later than exp(size).
  let root = exp(size * 0.5);
  let value = root * (root / (2.5066282746310002 * sqrt(size))) * sum;
  return select(order == 0, value, copysign(value, x));
}
fn i0(x: float) = bessel_i(0, x);
fn i1(x: float) = bessel_i(1, x);
fn sinc(x: float) {
  if (x == 0) { return 1; }
  return sin_pi(x) / (3.141592653589793 * x);
}
)";

}  // namespace kiln::expr
