// Samples of any distribution, one for each of its batch or `count` of them:
//
//   const Normal p(mean, 1.0);
//   const Tensor<1> x = sample(p);            // like mean, without gradients
//   const Tensor<2> many = rsample(p, 100);   // [100, ...], differentiable
#pragma once
#include "kiln/distribution/parts.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln::distribution {

template <class P>
concept Distribution = requires {
  P::kBatch;
  P::kEvent;
};
/// A distribution whose samples are functions of its parameters that have gradients.
template <class P>
concept Reparameterized = Distribution<P> && requires(const P p) { p.rsample(RandomKey()); };

/// One sample for each element of the batch, without gradients.
template <Distribution P>
auto sample(const P& p, RandomKey key = {}) {
  if constexpr (Reparameterized<P>) {
    const NoGrad no_grad;
    return p.rsample(key).detach();
  } else {
    return p.draw(key);
  }
}
/// [count, ...] samples. Throws ArgumentError for a negative number.
template <Distribution P>
auto sample(const P& p, std::int64_t count, RandomKey key = {}) {
  return sample(p.repeated(count), key);
}
/// Samples whose gradients flow to the parameters.
template <Reparameterized P>
auto rsample(const P& p, RandomKey key = {}) {
  return p.rsample(key);
}
template <Reparameterized P>
auto rsample(const P& p, std::int64_t count, RandomKey key = {}) {
  return p.repeated(count).rsample(key);
}

}  // namespace kiln::distribution
