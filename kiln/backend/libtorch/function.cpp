#include "kiln/backend/libtorch/function.hpp"

namespace kiln::libtorch::function {
namespace {

/// An integer quotient or remainder, computed by ATen where it is defined: y is neither 0 nor -1, at which processors
/// trap. The quotient is then 0 or -x, the remainder 0.
template <class Compute>
X where_defined(const X& x, const X& y, const X& beside_minus_one, Compute compute) {
  const X zero = y == 0, minus_one = y == -1;
  const X defined = select(zero | minus_one, 1, y);
  return select(zero, 0, select(minus_one, beside_minus_one, X(compute(x.t, defined.t))));
}

X zeros(const X& x) { return X(at::zeros_like(x.t)); }

}  // namespace

X sign(const X& x) {
  if (!x.t.is_floating_point()) return X(at::sign(x.t));
  return select(is_nan(x), x, X(at::sign(x.t)));
}

// (-1)^(n + 1) n! zeta(n + 1, x), and digamma where n is 0.
X polygamma(const X& order, const X& x) {
  const X n(order.t.to(at::kDouble)), at(x.t.to(at::kDouble));
  const X odd = fmod(n, X(as(n.t, 2))) != 0;
  const X size = exp(lgamma(n + 1)) * X(at::special_zeta((n + 1).t, at.t));
  return X(select(n == 0, digamma(at), select(odd, size, -size)).t.to(x.t.scalar_type()));
}

X floor_divide(const X& x, const X& y) {
  if (x.t.is_floating_point()) return floor(x / y);
  return where_defined(x, y, -x, [](const at::Tensor& a, const at::Tensor& b) { return at::div(a, b, "floor"); });
}

X remainder(const X& x, const X& y) {
  if (x.t.is_floating_point()) return X(at::remainder(x.t, y.t));
  return where_defined(x, y, zeros(x), [](const at::Tensor& a, const at::Tensor& b) { return at::remainder(a, b); });
}

X fmod(const X& x, const X& y) {
  if (x.t.is_floating_point()) return X(at::fmod(x.t, y.t));
  return where_defined(x, y, zeros(x), [](const at::Tensor& a, const at::Tensor& b) { return at::fmod(a, b); });
}

// A shift by 64 bits and more, or by fewer than 0, shifts everything out.
X shift_left(const X& x, const X& y) {
  const X outside = (y < 0) | (y >= 64);
  return select(outside, 0, X(at::bitwise_left_shift(x.t, select(outside, 0, y).t)));
}

X shift_right(const X& x, const X& y) {
  const X outside = (y < 0) | (y >= 64);
  return X(at::bitwise_right_shift(x.t, select(outside, 63, y).t));
}

}  // namespace kiln::libtorch::function
