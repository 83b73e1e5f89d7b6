// The exponential distribution, and Laplace's, which is exponential on both sides.
#pragma once
#include "kiln/distribution/parts.hpp"

namespace kiln::distribution {

/// Density rate exp(-rate x) for x >= 0.
template <int D>
struct Exponential {
  static constexpr int kBatch = D, kEvent = 0;
  Tensor<D> rate;

  explicit Exponential(const Tensor<D>& rate_) {
    rate = positive(Tensor<D>(Typed{broadcast_parameters("Exponential", Values{rate_.value()})[0]}));
  }

  template <int E>
  Tensor<kLargest<D, E>> log_prob(const Tensor<E>& x) const {
    return supported(x, x >= 0, rate.log() - rate * x);
  }
  template <int E>
  Tensor<kLargest<D, E>> cdf(const Tensor<E>& x) const {
    return -(-rate * x.clamp(0.0, kInfinity)).expm1();
  }
  template <int E>
  Tensor<kLargest<D, E>> icdf(const Tensor<E>& share) const {
    return -(-share_of_one(share)).log1p() / rate;
  }
  Tensor<D> rsample(RandomKey key = {}) const { return exponential_numbers_like(rate, key) / rate; }
  Tensor<D> mean() const { return 1 / rate; }
  Tensor<D> variance() const { return 1 / rate.square(); }
  Tensor<D> entropy() const { return 1 - rate.log(); }
  Exponential<D + 1> repeated(std::int64_t count) const { return Exponential<D + 1>(repeated_tensor(rate, count)); }
};

/// Density exp(-|x - location| / scale) / (2 scale).
template <int D>
struct Laplace {
  static constexpr int kBatch = D, kEvent = 0;
  Tensor<D> location, scale;

  template <class L, class S>
  requires Parameters<L, S> Laplace(const L& location_, const S& scale_) {
    const Values all = broadcast_parameters("Laplace", Values{Value(location_), Value(scale_)});
    location = Typed{all[0]}, scale = positive(Tensor<D>(Typed{all[1]}));
  }

  template <int E>
  Tensor<kLargest<D, E>> log_prob(const Tensor<E>& x) const {
    return -(x - location).abs() / scale - (scale * 2).log();
  }
  template <int E>
  Tensor<kLargest<D, E>> cdf(const Tensor<E>& x) const {
    const auto z = (x - location) / scale;
    const auto below = where(z < 0, z, -z).exp() * 0.5;
    return where(z < 0, below, 1 - below);
  }
  template <int E>
  Tensor<kLargest<D, E>> icdf(const Tensor<E>& share) const {
    const auto is_low = share < 0.5;
    const auto nearer = where(is_low, share, 1 - share);  // to 0 or to 1, with its digits
    const auto size = (nearer * 2).log();
    return location + scale * where(is_low, size, -size);
  }
  /// The difference of two exponential numbers follows Laplace's distribution.
  Tensor<D> rsample(RandomKey key = {}) const {
    return location + scale * (exponential_numbers_like(scale, key_part(key, 0)) -
                               exponential_numbers_like(scale, key_part(key, 1)));
  }
  Tensor<D> mean() const { return location; }
  Tensor<D> variance() const { return scale.square() * 2; }
  Tensor<D> entropy() const { return (scale * 2).log() + 1; }
  Laplace<D + 1> repeated(std::int64_t count) const {
    return {repeated_tensor(location, count), repeated_tensor(scale, count)};
  }
};
template <class L, class S>
Laplace(const L&, const S&) -> Laplace<kBatchOf<L, S>>;

}  // namespace kiln::distribution
