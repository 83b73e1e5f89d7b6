// What distributions share: parameters that broadcast, supports, keys, and the types of their functions.
//
// A distribution is a plain struct of tensors. kBatch is the rank of its batch, kEvent the number of dimensions that
// one sample has beside it. It has some of these functions:
//
//   log_prob(x)        the logarithm of the density or probability; minus infinity outside the support
//   rsample(key)       a sample through which gradients flow to the parameters
//   draw(key)          a sample without gradients, for distributions that have no rsample
//   mean(), variance(), entropy()
//   cdf(x)             the share of numbers up to x
//   icdf(share)        its inverse, where that has a closed form; NaN for what is no share
//   repeated(count)    the same distribution, [count, ...] times
//
// sample.hpp has what follows from these, kl_divergence.hpp the divergences. Nothing waits for the device to check
// parameters: a parameter without meaning (a negative scale) gives NaN.
#pragma once
#include <cmath>
#include <limits>
#include <numbers>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/numbers.hpp"
#include "kiln/tensor/random.hpp"
#include "kiln/tensor/special.hpp"

namespace kiln::distribution {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The rank to which parameters broadcast.
template <Operand... Ts>
inline constexpr int kBatchOf = kLargest<OperandTraits<Ts>::kRank...>;
/// Parameters of which at least one is a tensor, so that they have a device.
template <class... Ts>
concept Parameters = (Operand<Ts> && ...) && !(Number<Ts> && ...);

/// Broadcasts parameters to one shape and one float type; numbers and integers take that of the floats, or float32.
/// Throws ShapeError for shapes that do not broadcast, DTypeError for booleans and complex numbers.
Values broadcast_parameters(std::string_view distribution, Inputs parameters);

/// x, or NaN where it is not positive.
template <int D>
Tensor<D> positive(const Tensor<D>& x) {
  return where(x > 0, x, kNan);
}
/// x where it belongs to the support; elsewhere `otherwise`, at which densities can be differentiated.
template <int D, int E>
Tensor<kLargest<D, E>> in_support(const Tensor<D, Bool>& support, const Tensor<E>& x, double otherwise) {
  return where(support, x, otherwise);
}
/// The log-density of x within the support, minus infinity outside; NaN for an x that is NaN.
template <int D, int E, int F>
Tensor<kLargest<D, E, F>> supported(const Tensor<D>& x, const Tensor<E, Bool>& support, const Tensor<F>& log_density) {
  return where(x.is_nan(), kNan, where(support, log_density, -kInfinity));
}
/// A number between 0 and 1, or NaN.
template <int D>
Tensor<D> share_of_one(const Tensor<D>& share) {
  return where((share >= 0) & (share <= 1), share, kNan);
}
/// Whether x is a whole number from 0 on.
template <int D>
Tensor<D, Bool> is_count(const Tensor<D>& x) {
  return (x >= 0) & (x == x.floor()) & x.is_finite();
}

/// [count, ...]
template <int D, class K>
Tensor<D + 1, K> repeated_tensor(const Tensor<D, K>& x, std::int64_t count) {
  require<ArgumentError>(count >= 0, "sample: cannot draw ", count, " samples; the number must not be negative");
  Shape shape{count};
  for (const std::int64_t size : x.shape()) shape.push_back(size);
  return x.unsqueeze(0).template expand<D + 1>(shape);
}

/// The key of one of several draws; none where there was none.
inline RandomKey key_part(const RandomKey& key, std::uint64_t part) {
  return key ? RandomKey(key->split(part)) : std::nullopt;
}
/// Standard normal numbers, like x.
template <int D>
Tensor<D> standard_normal_like(const Tensor<D>& x, const RandomKey& key) {
  return randn_like(x.detach(), key);
}
/// Exponential numbers of rate 1, which are never 0, like x.
template <int D>
Tensor<D> exponential_numbers_like(const Tensor<D>& x, const RandomKey& key) {
  return exponential_like(x.detach(), 1, key);
}

}  // namespace kiln::distribution
