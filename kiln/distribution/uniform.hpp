// The uniform distribution.
#pragma once
#include "kiln/distribution/parts.hpp"

namespace kiln::distribution {

/// Density 1 / (high - low) in [low, high). NaN unless low < high.
template <int D>
struct Uniform {
  static constexpr int kBatch = D, kEvent = 0;
  Tensor<D> low, high;

  template <class L, class H>
  requires Parameters<L, H> Uniform(const L& low_, const H& high_) {
    const Values all = broadcast_parameters("Uniform", Values{Value(low_), Value(high_)});
    low = Typed{all[0]}, high = Typed{all[1]};
  }

  Tensor<D> width() const { return positive(high - low); }
  template <int E>
  Tensor<kLargest<D, E>> log_prob(const Tensor<E>& x) const {
    return supported(x, (x >= low) & (x < high), -width().log());
  }
  template <int E>
  Tensor<kLargest<D, E>> cdf(const Tensor<E>& x) const {
    return ((x - low) / width()).clamp(0.0, 1.0);
  }
  template <int E>
  Tensor<kLargest<D, E>> icdf(const Tensor<E>& share) const {
    return low + width() * share_of_one(share);
  }
  Tensor<D> rsample(RandomKey key = {}) const { return low + width() * rand_like(low.detach(), key); }
  Tensor<D> mean() const { return (low + high) * 0.5; }
  Tensor<D> variance() const { return width().square() / 12; }
  Tensor<D> entropy() const { return width().log(); }
  Uniform<D + 1> repeated(std::int64_t count) const {
    return {repeated_tensor(low, count), repeated_tensor(high, count)};
  }
};
template <class L, class H>
Uniform(const L&, const H&) -> Uniform<kBatchOf<L, H>>;

}  // namespace kiln::distribution
