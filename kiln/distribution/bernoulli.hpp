// Yes or no, and the number of times that it was yes.
#pragma once
#include "kiln/distribution/parts.hpp"

namespace kiln::distribution {

/// The number of successes among so many trials, for each probability; NaN where that is none.
Value binomial_draw(std::int64_t trials, const Value& probability, const RandomKey& key);

/// 1 with the probability sigmoid(logits), else 0.
template <int D>
struct Bernoulli {
  static constexpr int kBatch = D, kEvent = 0;
  Tensor<D> logits;

  explicit Bernoulli(const Tensor<D>& logits_) {
    logits = Typed{broadcast_parameters("Bernoulli", Values{logits_.value()})[0]};
  }
  /// NaN where a number is not between 0 and 1.
  static Bernoulli of(const Tensor<D>& probability) { return Bernoulli(probability.log() - (-probability).log1p()); }

  Tensor<D> probability() const { return logits.sigmoid(); }
  template <int E>
  Tensor<kLargest<D, E>> log_prob(const Tensor<E>& x) const {
    return supported(x, (x == 0) | (x == 1), where(x > 0.5, logits.log_sigmoid(), (-logits).log_sigmoid()));
  }
  Tensor<D> draw(RandomKey key = {}) const {
    const Tensor<D> p = probability().detach();
    return where(p.is_nan(), kNan, bernoulli(p, key));
  }
  Tensor<D> mean() const { return probability(); }
  Tensor<D> variance() const { return probability() * (-logits).sigmoid(); }
  Tensor<D> entropy() const {
    const Tensor<D> p = probability(), q = (-logits).sigmoid();
    return -where(p > 0, p * logits.log_sigmoid(), p) - where(q > 0, q * (-logits).log_sigmoid(), q);
  }
  Bernoulli<D + 1> repeated(std::int64_t count) const { return Bernoulli<D + 1>(repeated_tensor(logits, count)); }
};

/// The number of successes among `trials` trials, each with the probability sigmoid(logits).
template <int D>
struct Binomial {
  static constexpr int kBatch = D, kEvent = 0;
  std::int64_t trials;
  Tensor<D> logits;

  /// Throws ArgumentError for a negative number of trials.
  Binomial(std::int64_t trials_, const Tensor<D>& logits_) : trials(trials_) {
    require<ArgumentError>(trials >= 0, "Binomial: ", trials, " trials; the number must not be negative");
    logits = Typed{broadcast_parameters("Binomial", Values{logits_.value()})[0]};
  }
  static Binomial of(std::int64_t trials, const Tensor<D>& probability) {
    return Binomial(trials, probability.log() - (-probability).log1p());
  }

  double number() const { return static_cast<double>(trials); }
  Tensor<D> probability() const { return logits.sigmoid(); }
  template <int E>
  Tensor<kLargest<D, E>> log_prob(const Tensor<E>& x) const {
    const auto support = is_count(x) & (x <= number());
    const auto k = in_support(support, x, 0), rest = number() - k;
    const auto ways = std::lgamma(number() + 1) - (k + 1).lgamma() - (rest + 1).lgamma();
    const auto yes = where(k > 0, k * logits.log_sigmoid(), 0.0);
    const auto no = where(rest > 0, rest * (-logits).log_sigmoid(), 0.0);
    return supported(x, support, ways + yes + no);
  }
  template <int E>
  Tensor<kLargest<D, E>> cdf(const Tensor<E>& x) const {
    const auto inside = (x >= 0) & (x < number());
    const auto k = in_support(inside, x.detach(), 0).floor();
    const auto share = betainc(number() - k, k + 1, (-logits).sigmoid());  // of probabilities above this one
    return where(x.is_nan(), kNan, where(inside, share, where(x < 0, 0.0, 1.0)));
  }
  Tensor<D> draw(RandomKey key = {}) const {
    const Tensor<D> p = probability().detach();
    return Typed{binomial_draw(trials, p.value(), key)};
  }
  Tensor<D> mean() const { return probability() * number(); }
  Tensor<D> variance() const { return mean() * (-logits).sigmoid(); }
  /// The sum over all numbers of successes; takes memory for trials + 1 tensors.
  Tensor<D> entropy() const {
    const Tensor<1> k = arange(0.0, number() + 1, 1.0, logits.device(), logits.dtype());
    Tensor<D + 1> each = Binomial<D + 1>(trials, logits.unsqueeze(-1)).log_prob(k);
    const auto p = each.exp();
    return -where(p > 0, p * in_support(p > 0, each, 0), 0.0).sum(-1);
  }
  Binomial<D + 1> repeated(std::int64_t count) const { return Binomial<D + 1>(trials, repeated_tensor(logits, count)); }
};

}  // namespace kiln::distribution
