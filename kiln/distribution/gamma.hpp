// The Gamma distribution, and what follows from it: Beta, Dirichlet and Student's distribution.
#pragma once
#include "kiln/distribution/gamma_path.hpp"
#include "kiln/distribution/parts.hpp"

namespace kiln::distribution {

/// Density rate^concentration x^(concentration - 1) exp(-rate x) / Gamma(concentration) for x > 0.
template <int D>
struct Gamma {
  static constexpr int kBatch = D, kEvent = 0;
  Tensor<D> concentration, rate;

  template <class C, class R>
  requires Parameters<C, R> Gamma(const C& concentration_, const R& rate_) {
    const Values all = broadcast_parameters("Gamma", Values{Value(concentration_), Value(rate_)});
    concentration = positive(Tensor<D>(Typed{all[0]})), rate = positive(Tensor<D>(Typed{all[1]}));
  }

  template <int E>
  Tensor<kLargest<D, E>> log_prob(const Tensor<E>& x) const {
    const auto y = in_support(x > 0, x, 1);
    return supported(x, x > 0,
                     concentration * rate.log() + (concentration - 1) * y.log() - rate * y - concentration.lgamma());
  }
  /// Has no gradient for the concentration.
  template <int E>
  Tensor<kLargest<D, E>> cdf(const Tensor<E>& x) const {
    return igamma(concentration, rate * x.clamp(0.0, kInfinity));
  }
  Tensor<D> rsample(RandomKey key = {}) const {
    return Tensor<D>(Typed{log_gamma_sample(concentration.value(), key)}).exp() / rate;
  }
  Tensor<D> mean() const { return concentration / rate; }
  Tensor<D> variance() const { return concentration / rate.square(); }
  Tensor<D> entropy() const {
    return concentration - rate.log() + concentration.lgamma() + (1 - concentration) * concentration.digamma();
  }
  Gamma<D + 1> repeated(std::int64_t count) const {
    return {repeated_tensor(concentration, count), repeated_tensor(rate, count)};
  }
};
template <class C, class R>
Gamma(const C&, const R&) -> Gamma<kBatchOf<C, R>>;

/// Density proportional to x^(a - 1) (1 - x)^(b - 1) for x between 0 and 1.
template <int D>
struct Beta {
  static constexpr int kBatch = D, kEvent = 0;
  Tensor<D> a, b;

  template <class A, class B>
  requires Parameters<A, B> Beta(const A& a_, const B& b_) {
    const Values all = broadcast_parameters("Beta", Values{Value(a_), Value(b_)});
    a = positive(Tensor<D>(Typed{all[0]})), b = positive(Tensor<D>(Typed{all[1]}));
  }

  /// The logarithm of the Beta function.
  Tensor<D> log_normalizer() const { return a.lgamma() + b.lgamma() - (a + b).lgamma(); }
  template <int E>
  Tensor<kLargest<D, E>> log_prob(const Tensor<E>& x) const {
    const auto y = in_support((x > 0) & (x < 1), x, 0.5);
    return supported(x, (x > 0) & (x < 1), (a - 1) * y.log() + (b - 1) * (-y).log1p() - log_normalizer());
  }
  /// Has no gradient for a and b.
  template <int E>
  Tensor<kLargest<D, E>> cdf(const Tensor<E>& x) const {
    // Outside there is no slope, whatever it is at the ends.
    return where((x > 0) & (x < 1), betainc(a, b, in_support((x > 0) & (x < 1), x, 0.5)),
                 betainc(a, b, x.detach().clamp(0.0, 1.0)));
  }
  /// x / (x + y) for samples of two Gamma distributions.
  Tensor<D> rsample(RandomKey key = {}) const {
    const Tensor<D> x = Typed{log_gamma_sample(a.value(), key_part(key, 0))};
    const Tensor<D> y = Typed{log_gamma_sample(b.value(), key_part(key, 1))};
    return (x - y).sigmoid();
  }
  Tensor<D> mean() const { return a / (a + b); }
  Tensor<D> variance() const { return a * b / ((a + b).square() * (a + b + 1)); }
  Tensor<D> entropy() const {
    return log_normalizer() - (a - 1) * a.digamma() - (b - 1) * b.digamma() + (a + b - 2) * (a + b).digamma();
  }
  Beta<D + 1> repeated(std::int64_t count) const { return {repeated_tensor(a, count), repeated_tensor(b, count)}; }
};
template <class A, class B>
Beta(const A&, const B&) -> Beta<kBatchOf<A, B>>;

/// Student's distribution with `freedom` degrees of freedom: location + scale t, where t has density proportional to
/// (1 + t^2 / freedom)^-((freedom + 1) / 2).
template <int D>
struct StudentT {
  static constexpr int kBatch = D, kEvent = 0;
  Tensor<D> freedom, location, scale;

  template <class F, class L, class S>
  requires Parameters<F, L, S> StudentT(const F& freedom_, const L& location_, const S& scale_) {
    const Values all = broadcast_parameters("StudentT", Values{Value(freedom_), Value(location_), Value(scale_)});
    freedom = positive(Tensor<D>(Typed{all[0]})), location = Typed{all[1]};
    scale = positive(Tensor<D>(Typed{all[2]}));
  }

  template <int E>
  Tensor<kLargest<D, E>> log_prob(const Tensor<E>& x) const {
    const auto t = (x - location) / scale;
    return (freedom + 1) * -0.5 * (t.square() / freedom).log1p() - scale.log() -
           (freedom * std::numbers::pi).log() * 0.5 - (freedom * 0.5).lgamma() + ((freedom + 1) * 0.5).lgamma();
  }
  /// Has no gradient for the degrees of freedom.
  template <int E>
  Tensor<kLargest<D, E>> cdf(const Tensor<E>& x) const {
    // float16 has no small number whose square has shares above 0.
    const auto given = (x - location) / scale;
    const DType wide = given.dtype() == DType::F16 ? DType::F32 : given.dtype();
    const auto any = given.to(wide);
    const auto n = freedom.to(wide);
    // The slope at 0 is a limit, which is taken at a small number.
    constexpr double kLeast = 1e-15;
    const auto zero = any - any.detach();
    const auto t = where(any.abs() < kLeast, where(any < 0, zero - kLeast, zero + kLeast), any);
    // The share beyond |t|, by the one of two forms whose last argument keeps its digits.
    const auto square = t.square();
    const auto near = square < n;
    const auto small = where(near, square, n), large = where(near, n, square);
    const auto tail = where(near, 0.5 - 0.5 * betainc(0.5, n * 0.5, small / (n + small)),
                            0.5 * betainc(n * 0.5, 0.5, n / (n + large)));
    return where(t < 0, tail, 1 - tail).to(given.dtype());
  }
  /// A normal number divided by the root of a chi-squared one.
  Tensor<D> rsample(RandomKey key = {}) const {
    const Tensor<D> log_chi = Typed{log_gamma_sample((freedom * 0.5).value(), key_part(key, 0))};
    const Tensor<D> normal = standard_normal_like(location, key_part(key, 1));
    return location + scale * normal * (((freedom * 0.5).log() - log_chi) * 0.5).exp();
  }
  /// NaN up to 1 degree of freedom, where there is none.
  Tensor<D> mean() const { return where(freedom > 1, location, kNan); }
  /// Infinite up to 2 degrees of freedom, NaN up to 1.
  Tensor<D> variance() const {
    const Tensor<D> finite = scale.square() * freedom / (in_support(freedom > 2, freedom, 3) - 2);
    return where(freedom > 2, finite, where(freedom > 1, freedom * 0 + kInfinity, kNan));
  }
  Tensor<D> entropy() const {
    const Tensor<D> half = freedom * 0.5, more = half + 0.5;
    return scale.log() + more * (more.digamma() - half.digamma()) + freedom.log() * 0.5 + half.lgamma() +
           0.5 * std::log(std::numbers::pi) - more.lgamma();
  }
  StudentT<D + 1> repeated(std::int64_t count) const {
    return {repeated_tensor(freedom, count), repeated_tensor(location, count), repeated_tensor(scale, count)};
  }
};
template <class F, class L, class S>
StudentT(const F&, const L&, const S&) -> StudentT<kBatchOf<F, L, S>>;

/// Shares x [..., k] that add up to 1, with density proportional to the product of x^(concentration - 1).
/// Concentrations are [..., k].
template <int D>
struct Dirichlet {
  static constexpr int kBatch = D, kEvent = 1;
  Tensor<D + 1> concentration;

  explicit Dirichlet(const Tensor<D + 1>& concentration_) {
    concentration =
        positive(Tensor<D + 1>(Typed{broadcast_parameters("Dirichlet", Values{concentration_.value()})[0]}));
  }

  Tensor<D> total() const { return concentration.sum(-1); }
  Tensor<D> log_normalizer() const { return concentration.lgamma().sum(-1) - total().lgamma(); }
  /// x [..., k] -> [...]; minus infinity where an element is not positive or they do not add up to 1 within 1e-4.
  template <int E>
  requires(E >= 1) Tensor<kLargest<D, E - 1>> log_prob(const Tensor<E>& x) const {
    const auto support = (x > 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-4);
    return supported(x.sum(-1), support,
                     ((concentration - 1) * in_support(x > 0, x, 1).log()).sum(-1) - log_normalizer());
  }
  Tensor<D + 1> rsample(RandomKey key = {}) const {
    return Tensor<D + 1>(Typed{log_gamma_sample(concentration.value(), key)}).softmax(-1);
  }
  Tensor<D + 1> mean() const { return concentration / concentration.sum(keep, -1); }
  Tensor<D + 1> variance() const { return mean() * (1 - mean()) / (concentration.sum(keep, -1) + 1); }
  Tensor<D> entropy() const {
    const double k = static_cast<double>(concentration.dim(-1));
    return log_normalizer() + (total() - k) * total().digamma() -
           ((concentration - 1) * concentration.digamma()).sum(-1);
  }
  Dirichlet<D + 1> repeated(std::int64_t count) const {
    return Dirichlet<D + 1>(repeated_tensor(concentration, count));
  }
};
template <int R>
Dirichlet(const Tensor<R>&) -> Dirichlet<R - 1>;

}  // namespace kiln::distribution
