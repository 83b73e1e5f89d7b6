// The Kullback-Leibler divergence of two distributions of one family: the expectation of log p(x) - log q(x) for
// samples x of p. Never negative; infinite where p has samples that q cannot have.
#pragma once
#include "kiln/distribution/bernoulli.hpp"
#include "kiln/distribution/categorical.hpp"
#include "kiln/distribution/exponential.hpp"
#include "kiln/distribution/gamma.hpp"
#include "kiln/distribution/multivariate_normal.hpp"
#include "kiln/distribution/normal.hpp"
#include "kiln/distribution/poisson.hpp"
#include "kiln/distribution/uniform.hpp"

namespace kiln::distribution {

template <int D, int E>
Tensor<kLargest<D, E>> kl_divergence(const Normal<D>& p, const Normal<E>& q) {
  const auto ratio = p.scale / q.scale;
  return (ratio.square() + ((p.location - q.location) / q.scale).square() - 1) * 0.5 - ratio.log();
}
template <int D, int E>
Tensor<kLargest<D, E>> kl_divergence(const LogNormal<D>& p, const LogNormal<E>& q) {
  return kl_divergence(p.logarithm, q.logarithm);
}
template <int D, int E>
Tensor<kLargest<D, E>> kl_divergence(const Uniform<D>& p, const Uniform<E>& q) {
  const auto outside = (p.low < q.low) | (p.high > q.high);
  return where(outside, kInfinity, (q.width() / p.width()).log());
}
template <int D, int E>
Tensor<kLargest<D, E>> kl_divergence(const Exponential<D>& p, const Exponential<E>& q) {
  const auto ratio = q.rate / p.rate;
  return ratio - 1 - ratio.log();
}
template <int D, int E>
Tensor<kLargest<D, E>> kl_divergence(const Laplace<D>& p, const Laplace<E>& q) {
  const auto away = (p.location - q.location).abs(), ratio = p.scale / q.scale;
  return ratio * (-away / p.scale).exp() + away / q.scale - ratio.log() - 1;
}
template <int D, int E>
Tensor<kLargest<D, E>> kl_divergence(const Gamma<D>& p, const Gamma<E>& q) {
  return (p.concentration - q.concentration) * p.concentration.digamma() - p.concentration.lgamma() +
         q.concentration.lgamma() + q.concentration * (p.rate / q.rate).log() + p.concentration * (q.rate / p.rate - 1);
}
template <int D, int E>
Tensor<kLargest<D, E>> kl_divergence(const Beta<D>& p, const Beta<E>& q) {
  const auto a = p.a - q.a, b = p.b - q.b;
  return q.log_normalizer() - p.log_normalizer() + a * p.a.digamma() + b * p.b.digamma() -
         (a + b) * (p.a + p.b).digamma();
}
template <int D, int E>
Tensor<kLargest<D, E>> kl_divergence(const Dirichlet<D>& p, const Dirichlet<E>& q) {
  const auto slope = p.concentration.digamma() - p.total().digamma().unsqueeze(-1);
  return q.log_normalizer() - p.log_normalizer() + ((p.concentration - q.concentration) * slope).sum(-1);
}
template <int D, int E>
Tensor<kLargest<D, E>> kl_divergence(const Bernoulli<D>& p, const Bernoulli<E>& q) {
  const auto yes = p.probability(), no = (-p.logits).sigmoid();
  return where(yes > 0, yes * (p.logits.log_sigmoid() - q.logits.log_sigmoid()), 0.0) +
         where(no > 0, no * ((-p.logits).log_sigmoid() - (-q.logits).log_sigmoid()), 0.0);
}
/// Throws ArgumentError for two numbers of trials.
template <int D, int E>
Tensor<kLargest<D, E>> kl_divergence(const Binomial<D>& p, const Binomial<E>& q) {
  require<ArgumentError>(p.trials == q.trials, "kl_divergence: distributions of ", p.trials, " and of ", q.trials,
                         " trials have no divergence in closed form; average log_prob over samples");
  return kl_divergence(Bernoulli<D>(p.logits), Bernoulli<E>(q.logits)) * p.number();
}
template <int D, int E>
Tensor<kLargest<D, E>> kl_divergence(const Poisson<D>& p, const Poisson<E>& q) {
  return where(p.rate == 0, 0.0, p.rate * (p.rate / q.rate).log()) - p.rate + q.rate;
}
template <int D, int E>
Tensor<kLargest<D, E>> kl_divergence(const Categorical<D>& p, const Categorical<E>& q) {
  const auto share = p.probability();
  return where(share > 0, share * (p.log_probability - q.log_probability), 0.0).sum(-1);
}
template <int D, int E>
Tensor<kLargest<D, E>> kl_divergence(const MultivariateNormal<D>& p, const MultivariateNormal<E>& q) {
  constexpr int R = kLargest<D, E>;
  const double n = static_cast<double>(p.location.dim(-1));
  const Tensor<R + 1> away = p.location - q.location;
  Shape shape = away.shape();
  shape.push_back(p.location.dim(-1));
  const auto p_factor = p.factor.template expand<R + 2>(shape), q_factor = q.factor.template expand<R + 2>(shape);
  const Tensor<R + 2> spread = triangular_solve(q_factor, p_factor);
  const Tensor<R + 2> distance = triangular_solve(q_factor, away.unsqueeze(-1));
  return (spread.square().sum(-1, -2) + distance.square().sum(-1, -2) - n) * 0.5 + q.half_log_determinant() -
         p.half_log_determinant();
}

}  // namespace kiln::distribution
