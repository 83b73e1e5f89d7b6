// Bessel functions (special/bessel.cpp has their definitions and formulas).
#include "kiln/ops/expression/library/library.hpp"

namespace kiln::expr {

const std::string_view kBesselText = R"(
// The odd or the even terms of Hankel's series at x, whose signs alternate or are their own.
fn hankel(order: float, x, odd: bool, alternates: bool) {
  var sum = select(odd, 0, 1);
  var term = 1;
  var k = 1;
  var is_odd = true;
  var turned = false;  // of four terms, the second and the third
  while ((k < 60) & (abs(term) > 1e-18)) {
    term = term * ((4 * order - (2 * k - 1) * (2 * k - 1)) / (8 * k * x));
    if (is_odd == odd) { sum = sum + select(alternates & turned, -term, term); }
    turned = turned ^ is_odd;
    is_odd = !is_odd;
    k = k + 1;
  }
  return sum;
}
// J0, J1, Y0 or Y1 (which: 0 to 3) at x from 25 on
fn bessel_far(which: float, x) {
  let sine = sin(x);
  let cosine = cos(x);
  let plus = cosine + sine;
  let minus = sine - cosine;
  let order = select((which == 1) | (which == 3), 1, 0);
  let even = hankel(order, x, false, true);
  let odd = hankel(order, x, true, true);
  let scale = 0.5641895835477563 / sqrt(x);
  if (which == 0) { return scale * (even * plus - odd * minus); }
  if (which == 1) { return scale * (even * minus + odd * plus); }
  if (which == 2) { return scale * (even * minus + odd * plus); }
  return scale * (odd * minus - even * plus);
}
// Miller's method, below 25. What grows too large is made smaller, all of it.
fn bessel_recur(which: float, x) {
  let top = select(x < 1, 20, 30 + 2 * trunc(0.75 * x));
  var above = 0;
  var j = 1e-15;
  var sum = 0;
  var neumann = 0;
  var slope = 0;
  var n = top;
  while (n > 0) {
    let below = 2 * n / x * j - above;
    if (floor(n * 0.5) * 2 == n) {
      let weight = select(floor(n * 0.25) * 4 == n, 2, -2) / n;
      sum = sum + 2 * j;
      neumann = neumann + weight * j;
      slope = slope + weight * (below - above) * 0.5;
    }
    above = j;
    j = below;
    if (abs(j) > 1000000000000000) {
      above = above * 8.881784197001252e-16;
      j = j * 8.881784197001252e-16;
      sum = sum * 8.881784197001252e-16;
      neumann = neumann * 8.881784197001252e-16;
      slope = slope * 8.881784197001252e-16;
    }
    n = n - 1;
  }
  sum = sum + j;
  let j0 = j / sum;
  let j1 = above / sum;
  if (which == 0) { return j0; }
  if (which == 1) { return j1; }
  let logarithm = log(x * 0.5) + 0.5772156649015329;
  if (which == 2) { return 0.6366197723675814 * (logarithm * j0 - 2 * neumann / sum); }
  return 0.6366197723675814 * (logarithm * j1 - j0 / x + 2 * slope / sum);
}
fn bessel(which: float, x) {
  if (is_inf(x)) { return 0; }
  if (x >= 25) { return bessel_far(which, x); }
  if (x >= 1e-9) { return bessel_recur(which, x); }
  if (which == 0) { return 1; }
  if (which == 1) { return x * 0.5; }
  if (which == 2) { return 0.6366197723675814 * (log(x * 0.5) + 0.5772156649015329); }
  return -0.6366197723675814 / x;
}
fn bessel_j0(x: float) {
  if (is_nan(x) | (x == 0)) { return 1 + x; }
  return bessel(0, abs(x));
}
fn bessel_j1(x: float) {
  if (is_nan(x) | (x == 0)) { return x; }
  return copysign(1, x) * bessel(1, abs(x));
}
fn bessel_y0(x: float) {
  if (!(x > 0)) { return select(x == 0, -infinity, nan); }
  return bessel(2, x);
}
fn bessel_y1(x: float) {
  if (!(x > 0)) { return select(x == 0, -infinity, nan); }
  return bessel(3, x);
}
fn scaled_i(order: float, size) {
  if (size < 20) { return exp(-size) * bessel_i(order, size); }
  if (is_inf(size)) { return 0; }
  return (hankel(order, size, false, false) - hankel(order, size, true, false)) * 0.3989422804014327 / sqrt(size);
}
fn i0e(x: float) = scaled_i(0, abs(x));
fn i1e(x: float) = copysign(scaled_i(1, abs(x)), x);
fn scaled_k(order: float, x) {
  if (!(x > 0)) { return select(x == 0, infinity, nan); }
  if (is_inf(x)) { return 0; }
  if (x >= 25) {
    return 1.2533141373155003 / sqrt(x) * (hankel(order, x, false, false) + hankel(order, x, true, false));
  }
  var sum = 0;
  if (x < 1) {
    let square = x * x * 0.25;
    let logarithm = log(x * 0.5);
    var term = 1;
    var digammas = select(order == 0, -0.5772156649015329, -0.1544313298030658);
    var k = 0;
    while (k < 20) {
      sum = sum + term * digammas;
      term = term * (square / ((k + 1) * (k + 1 + order)));
      digammas = digammas + 1 / (k + 1) + select(order == 0, 0, 1 / (k + 2));
      k = k + 1;
    }
    if (order == 0) { return exp(x) * (sum - logarithm * bessel_i(0, x)); }
    return exp(x) * (1 / x + logarithm * bessel_i(1, x) - x * 0.25 * sum);
  }
  sum = 0.5;
  var i = 1;
  while (i < 60) {
    let slope = sinh(i * 0.0625);
    let value = exp(-2 * x * slope * slope) * select(order == 0, 1, cosh(i * 0.125));
    sum = sum + value;
    i = select(value < 1e-18, 60, i + 1);
  }
  return 0.125 * sum;
}
fn scaled_modified_bessel_k0(x: float) = scaled_k(0, x);
fn scaled_modified_bessel_k1(x: float) = scaled_k(1, x);
fn modified_bessel_k0(x: float) = exp(-x) * scaled_k(0, x);
fn modified_bessel_k1(x: float) = exp(-x) * scaled_k(1, x);
fn spherical_bessel_j0(x: float) {
  if (x == 0) { return 1; }
  if (is_inf(x)) { return 0; }
  return sin(x) / x;
}
)";

}  // namespace kiln::expr
