// The normal distribution, and that of numbers whose logarithms are normal.
#pragma once
#include "kiln/distribution/parts.hpp"

namespace kiln::distribution {

/// Density exp(-((x - location) / scale)^2 / 2) / (scale sqrt(2 pi)).
template <int D>
struct Normal {
  static constexpr int kBatch = D, kEvent = 0;
  Tensor<D> location, scale;

  template <class L, class S>
  requires Parameters<L, S> Normal(const L& location_, const S& scale_) {
    const Values all = broadcast_parameters("Normal", Values{Value(location_), Value(scale_)});
    location = Typed{all[0]}, scale = positive(Tensor<D>(Typed{all[1]}));
  }

  template <int E>
  Tensor<kLargest<D, E>> log_prob(const Tensor<E>& x) const {
    return ((x - location) / scale).square() * -0.5 - scale.log() - 0.5 * std::log(2 * std::numbers::pi);
  }
  template <int E>
  Tensor<kLargest<D, E>> cdf(const Tensor<E>& x) const {
    return ndtr((x - location) / scale);
  }
  template <int E>
  Tensor<kLargest<D, E>> icdf(const Tensor<E>& share) const {
    return location + scale * ndtri(share);
  }
  Tensor<D> rsample(RandomKey key = {}) const { return location + scale * standard_normal_like(location, key); }
  Tensor<D> mean() const { return location; }
  Tensor<D> variance() const { return scale.square(); }
  Tensor<D> entropy() const { return scale.log() + 0.5 * std::log(2 * std::numbers::pi * std::numbers::e); }
  Normal<D + 1> repeated(std::int64_t count) const {
    return {repeated_tensor(location, count), repeated_tensor(scale, count)};
  }
};
template <class L, class S>
Normal(const L&, const S&) -> Normal<kBatchOf<L, S>>;

/// exp(y) for a normal y with this location and scale.
template <int D>
struct LogNormal {
  static constexpr int kBatch = D, kEvent = 0;
  Normal<D> logarithm;

  template <class L, class S>
  requires Parameters<L, S> LogNormal(const L& location, const S& scale) : logarithm(location, scale) {}

  template <int E>
  Tensor<kLargest<D, E>> log_prob(const Tensor<E>& x) const {
    const auto y = in_support(x > 0, x, 1).log();
    return supported(x, x > 0, logarithm.log_prob(y) - y);
  }
  template <int E>
  Tensor<kLargest<D, E>> cdf(const Tensor<E>& x) const {
    return where(x <= 0, 0.0, logarithm.cdf(in_support(!(x <= 0), x, 1).log()));
  }
  template <int E>
  Tensor<kLargest<D, E>> icdf(const Tensor<E>& share) const {
    return logarithm.icdf(share).exp();
  }
  Tensor<D> rsample(RandomKey key = {}) const { return logarithm.rsample(key).exp(); }
  Tensor<D> mean() const { return (logarithm.location + logarithm.variance() * 0.5).exp(); }
  Tensor<D> variance() const {
    return logarithm.variance().expm1() * (logarithm.location * 2 + logarithm.variance()).exp();
  }
  Tensor<D> entropy() const { return logarithm.entropy() + logarithm.location; }
  LogNormal<D + 1> repeated(std::int64_t count) const {
    return {repeated_tensor(logarithm.location, count), repeated_tensor(logarithm.scale, count)};
  }
};
template <class L, class S>
LogNormal(const L&, const S&) -> LogNormal<kBatchOf<L, S>>;

}  // namespace kiln::distribution
