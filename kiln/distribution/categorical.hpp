// One of several classes.
#pragma once
#include "kiln/distribution/parts.hpp"

namespace kiln::distribution {

/// A class index with the probability softmax(logits), for logits [..., classes].
template <int D>
struct Categorical {
  static constexpr int kBatch = D, kEvent = 0;
  Tensor<D + 1> log_probability;  // [..., classes]

  explicit Categorical(const Tensor<D + 1>& logits) {
    log_probability =
        Tensor<D + 1>(Typed{broadcast_parameters("Categorical", Values{logits.value()})[0]}).log_softmax(-1);
  }
  /// Weights [..., classes] that are not negative; they need not add up to 1.
  static Categorical of(const Tensor<D + 1>& weights) { return Categorical(weights.log()); }

  Tensor<D + 1> probability() const { return log_probability.exp(); }
  /// Class indices -> log-probabilities. Throws IndexError for an index that is no class's.
  template <int E>
  Tensor<kLargest<D, E>> log_prob(const Tensor<E, Int>& x) const {
    Shape batch = log_probability.shape();
    batch.pop_back();
    Shape shape = broadcast("Categorical", batch, x.shape()), rows = shape;
    rows.push_back(log_probability.dim(-1));
    const Value index = unsqueeze(expand(x.value(), shape), -1);
    return Typed{squeeze(gather(expand(log_probability.value(), rows), -1, index), -1)};
  }
  Tensor<D, Int> draw(RandomKey key = {}) const { return categorical(probability().detach(), key); }
  Tensor<D> entropy() const {
    const Tensor<D + 1> p = probability();
    return -where(p > 0, p * in_support(p > 0, log_probability, 0), 0.0).sum(-1);
  }
  Categorical<D + 1> repeated(std::int64_t count) const {
    return Categorical<D + 1>(repeated_tensor(log_probability, count));
  }
};
template <int R>
Categorical(const Tensor<R>&) -> Categorical<R - 1>;

}  // namespace kiln::distribution
