// Mixtures of distributions of one family.
#pragma once
#include "kiln/distribution/categorical.hpp"
#include "kiln/distribution/sample.hpp"

namespace kiln::distribution {

/// A sample of components[..., k], where k is a sample of `weights`: the last dimension of the components' batch has
/// one component for each class.
template <Distribution P>
struct Mixture {
  static constexpr int kBatch = P::kBatch - 1, kEvent = P::kEvent;
  static_assert(kBatch >= 0, "the components of a mixture are the last dimension of a batch, so a batch has one");
  Categorical<kBatch> weights;
  P components;

  /// Throws ShapeError where the batch of the components is not that of the weights with their classes.
  Mixture(const Categorical<kBatch>& weights_, const P& components_) : weights(weights_), components(components_) {
    Shape batch = components.mean().shape();
    for (int i = 0; i < kEvent; ++i) batch.pop_back();
    require<ShapeError>(batch == weights.log_probability.shape(), "Mixture: weights ", weights.log_probability.shape(),
                        " need components of that batch, got ", batch);
  }

  /// The probabilities, with dimensions for the components' events.
  Tensor<kBatch + 1 + kEvent> shares() const { return Typed{with_event(weights.probability().value())}; }
  template <int E>
  requires(E >= kEvent) Tensor<kLargest<kBatch, E - kEvent>> log_prob(const Tensor<E>& x) const {
    const Tensor<E + 1> each = x.unsqueeze(-1 - kEvent);
    return (weights.log_probability + components.log_prob(each)).logsumexp(-1);
  }
  template <int E>
  requires(kEvent == 0) Tensor<kLargest<kBatch, E>> cdf(const Tensor<E>& x) const {
    const Tensor<E + 1> each = x.unsqueeze(-1);
    return (weights.probability() * components.cdf(each)).sum(-1);
  }
  auto draw(RandomKey key = {}) const {
    const auto all = sample(components, key_part(key, 0));
    const Value index = with_event(unsqueeze(weights.draw(key_part(key, 1)).value(), -1));
    Shape shape = all.shape();
    shape[kBatch] = 1;
    const Value picked = squeeze(gather(all.value(), kBatch, expand(index, shape)), kBatch);
    return decltype(components.mean().sum(kBatch))(Typed{picked});
  }
  Tensor<kBatch + kEvent> mean() const { return (shares() * components.mean()).sum(kBatch); }
  Tensor<kBatch + kEvent> variance() const {
    const auto within = (shares() * components.variance()).sum(kBatch);
    const auto away = components.mean() - mean().unsqueeze(kBatch);
    return within + (shares() * away.square()).sum(kBatch);
  }
  auto repeated(std::int64_t count) const {
    const auto more = components.repeated(count);
    return Mixture<std::remove_const_t<decltype(more)>>(weights.repeated(count), more);
  }

 private:
  static Value with_event(Value x) {
    for (int i = 0; i < kEvent; ++i) x = unsqueeze(x, -1);
    return x;
  }
};
template <int D, class P>
Mixture(const Categorical<D>&, const P&) -> Mixture<P>;

}  // namespace kiln::distribution
