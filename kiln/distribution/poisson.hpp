// The Poisson distribution.
#pragma once
#include "kiln/distribution/parts.hpp"

namespace kiln::distribution {

/// k = 0, 1, ... with the probability rate^k exp(-rate) / k!, as a float. The rate may be 0.
template <int D>
struct Poisson {
  static constexpr int kBatch = D, kEvent = 0;
  Tensor<D> rate;

  explicit Poisson(const Tensor<D>& rate_) {
    const Tensor<D> all = Typed{broadcast_parameters("Poisson", Values{rate_.value()})[0]};
    rate = where(all >= 0, all, kNan);
  }

  template <int E>
  Tensor<kLargest<D, E>> log_prob(const Tensor<E>& x) const {
    const auto k = in_support(is_count(x), x, 0);
    return supported(x, is_count(x), xlogy(k, rate) - rate - (k + 1).lgamma());
  }
  /// Has no gradient for the rate.
  template <int E>
  Tensor<kLargest<D, E>> cdf(const Tensor<E>& x) const {
    return where(x < 0, 0.0, igammac(in_support(!(x < 0), x, 0).floor() + 1, rate));
  }
  Tensor<D> draw(RandomKey key = {}) const { return poisson(rate, key); }
  Tensor<D> mean() const { return rate; }
  Tensor<D> variance() const { return rate; }
  Poisson<D + 1> repeated(std::int64_t count) const { return Poisson<D + 1>(repeated_tensor(rate, count)); }
};

}  // namespace kiln::distribution
