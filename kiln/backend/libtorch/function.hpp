// The functions with which elementwise.def writes its expressions, for tensors of ATen: its vocabulary, one line a name.
// They keep the rules of kiln/ops/elementwise/scalar_math.hpp where ATen has others.
#pragma once
#include <ATen/ATen.h>

#include <type_traits>

namespace kiln::libtorch {

/// A tensor in expressions. Its operators compute in its own type: float64, float32 or int64; comparisons are booleans.
struct X {
  explicit X(at::Tensor t) : t(std::move(t)) {}
  at::Tensor t;
};

namespace function {

template <class T>
concept Plain = std::is_arithmetic_v<T>;

/// A number as a tensor of the type of `like`.
template <Plain T>
at::Tensor as(const at::Tensor& like, T value) {
  return at::scalar_tensor(value, like.options());
}
inline const at::Tensor& as(const at::Tensor&, const X& x) { return x.t; }

#define KILN_OPERATOR(sign, name)                                                              \
  inline X operator sign(const X& a, const X& b) { return X(at::name(a.t, b.t)); }             \
  template <Plain T> X operator sign(const X& a, T b) { return X(at::name(a.t, as(a.t, b))); } \
  template <Plain T> X operator sign(T a, const X& b) { return X(at::name(as(b.t, a), b.t)); }
KILN_OPERATOR(+, add)
KILN_OPERATOR(-, sub)
KILN_OPERATOR(*, mul)
KILN_OPERATOR(/, div)
KILN_OPERATOR(<, lt)
KILN_OPERATOR(<=, le)
KILN_OPERATOR(>, gt)
KILN_OPERATOR(>=, ge)
KILN_OPERATOR(==, eq)
KILN_OPERATOR(!=, ne)
KILN_OPERATOR(&, bitwise_and)
KILN_OPERATOR(|, bitwise_or)
KILN_OPERATOR(^, bitwise_xor)
#undef KILN_OPERATOR
inline X operator-(const X& x) { return X(at::neg(x.t)); }
inline X operator~(const X& x) { return X(at::bitwise_not(x.t)); }
inline X operator!(const X& x) { return X(at::logical_not(x.t)); }

// ---- names that mean the same in ATen ------------------------------------------------------------------------------
#define KILN_FUNCTION(function, name) \
  inline X function(const X& x) { return X(at::name(x.t)); }
KILN_FUNCTION(abs, abs)
KILN_FUNCTION(sqrt, sqrt)
KILN_FUNCTION(exp, exp)
KILN_FUNCTION(exp2, exp2)
KILN_FUNCTION(expm1, expm1)
KILN_FUNCTION(log, log)
KILN_FUNCTION(log2, log2)
KILN_FUNCTION(log10, log10)
KILN_FUNCTION(log1p, log1p)
KILN_FUNCTION(sin, sin)
KILN_FUNCTION(cos, cos)
KILN_FUNCTION(tan, tan)
KILN_FUNCTION(asin, asin)
KILN_FUNCTION(acos, acos)
KILN_FUNCTION(atan, atan)
KILN_FUNCTION(sinh, sinh)
KILN_FUNCTION(cosh, cosh)
KILN_FUNCTION(tanh, tanh)
KILN_FUNCTION(asinh, asinh)
KILN_FUNCTION(acosh, acosh)
KILN_FUNCTION(atanh, atanh)
KILN_FUNCTION(erf, erf)
KILN_FUNCTION(erfc, erfc)
KILN_FUNCTION(is_nan, isnan)
KILN_FUNCTION(is_inf, isinf)
KILN_FUNCTION(is_finite, isfinite)
KILN_FUNCTION(sign_bit, signbit)
#undef KILN_FUNCTION

// ---- names whose integers stay what they are -----------------------------------------------------------------------
#define KILN_ROUNDING(function, name) \
  inline X function(const X& x) { return x.t.is_floating_point() ? X(at::name(x.t)) : x; }
KILN_ROUNDING(floor, floor)
KILN_ROUNDING(ceil, ceil)
KILN_ROUNDING(trunc, trunc)
KILN_ROUNDING(round, round)
#undef KILN_ROUNDING

// ---- names that are computed in float64 ----------------------------------------------------------------------------
#define KILN_IN_DOUBLE(function, name) \
  inline X function(const X& x) { return X(at::name(x.t.to(at::kDouble)).to(x.t.scalar_type())); }
KILN_IN_DOUBLE(lgamma, lgamma)
KILN_IN_DOUBLE(digamma, digamma)
KILN_IN_DOUBLE(erfinv, erfinv)
KILN_IN_DOUBLE(i0, i0)
KILN_IN_DOUBLE(i1, special_i1)
KILN_IN_DOUBLE(sinc, sinc)
#undef KILN_IN_DOUBLE

// ---- of two and more -----------------------------------------------------------------------------------------------
template <class A, class B>
X select(const X& condition, const A& a, const B& b) {
  if constexpr (Plain<A>) return X(at::where(condition.t, as(b.t, a), as(b.t, b)));
  else return X(at::where(condition.t, a.t, as(a.t, b)));
}
inline X max(const X& x, const X& y) { return X(at::maximum(x.t, y.t)); }
inline X min(const X& x, const X& y) { return X(at::minimum(x.t, y.t)); }
template <Plain T> X max(const X& x, T y) { return max(x, X(as(x.t, y))); }
template <Plain T> X min(const X& x, T y) { return min(x, X(as(x.t, y))); }
inline X atan2(const X& x, const X& y) { return X(at::atan2(x.t, y.t)); }
inline X hypot(const X& x, const X& y) { return X(at::hypot(x.t, y.t)); }
inline X copysign(const X& x, const X& y) { return X(at::copysign(x.t, y.t)); }
inline X pow(const X& x, const X& y) { return X(at::pow(x.t, y.t)); }

X sign(const X& x);
X polygamma(const X& order, const X& x);
X floor_divide(const X& x, const X& y);
X remainder(const X& x, const X& y);
X fmod(const X& x, const X& y);
X shift_left(const X& x, const X& y);
X shift_right(const X& x, const X& y);

}  // namespace function
}  // namespace kiln::libtorch
