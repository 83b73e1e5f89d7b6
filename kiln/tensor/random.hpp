// Random tensors. Each function takes a key, or a Generator that gives its next one, or uses the device's stream:
// randn({2, 3}, device), randn({2, 3}, device, Key{7}), randn({2, 3}, device, generator, DType::F64).
// ops/create/random.hpp defines the distributions and says which have gradients.
#pragma once
#include "kiln/ops/create/random.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// Sizes in braces; their number is the rank.
template <std::size_t N>
using Sizes = const std::int64_t (&)[N];
/// Empty braces, for a tensor of rank 0.
struct NoSize {
  NoSize() = delete;
};
using NoSizes = std::initializer_list<NoSize>;

/// Uniform in [0, 1).
template <std::size_t D>
Tensor<D> rand(Sizes<D> shape, const Device& device, RandomKey key = {}, DType dtype = DType::F32) {
  return Typed{uniform(Shape(shape, shape + D), 0, 1, device, dtype, key)};
}
/// Normal with mean 0 and variance 1.
template <std::size_t D>
Tensor<D> randn(Sizes<D> shape, const Device& device, RandomKey key = {}, DType dtype = DType::F32) {
  return Typed{normal(Shape(shape, shape + D), 0, 1, device, dtype, key)};
}
/// Uniform in [low, high).
template <std::size_t D>
Tensor<D> uniform(Sizes<D> shape, double low, double high, const Device& device, RandomKey key = {},
                  DType dtype = DType::F32) {
  return Typed{uniform(Shape(shape, shape + D), low, high, device, dtype, key)};
}
template <std::size_t D>
Tensor<D> normal(Sizes<D> shape, double mean, double deviation, const Device& device, RandomKey key = {},
                 DType dtype = DType::F32) {
  return Typed{normal(Shape(shape, shape + D), mean, deviation, device, dtype, key)};
}
/// Normal within [low, high]; either bound may be infinite.
template <std::size_t D>
Tensor<D> truncated_normal(Sizes<D> shape, const NormalWithin& distribution, const Device& device, RandomKey key = {},
                           DType dtype = DType::F32) {
  return Typed{truncated_normal(Shape(shape, shape + D), distribution, device, dtype, key)};
}
template <std::size_t D>
[[deprecated("give the distribution as NormalWithin{mean, deviation, low, high}")]] Tensor<D> truncated_normal(
    Sizes<D> shape, double mean, double deviation, double low, double high, const Device& device, RandomKey key = {},
    DType dtype = DType::F32) {
  return truncated_normal<D>(shape, NormalWithin{mean, deviation, low, high}, device, key, dtype);
}
/// 1 with the given probability, else 0.
template <std::size_t D>
Tensor<D> bernoulli(Sizes<D> shape, double probability, const Device& device, RandomKey key = {},
                    DType dtype = DType::F32) {
  return Typed{bernoulli(Shape(shape, shape + D), probability, device, dtype, key)};
}
template <std::size_t D>
Tensor<D> exponential(Sizes<D> shape, double rate, const Device& device, RandomKey key = {}, DType dtype = DType::F32) {
  return Typed{exponential(Shape(shape, shape + D), rate, device, dtype, key)};
}
template <std::size_t D>
Tensor<D> gamma(Sizes<D> shape, double concentration, double scale, const Device& device, RandomKey key = {},
                DType dtype = DType::F32) {
  return Typed{gamma(Shape(shape, shape + D), concentration, scale, device, dtype, key)};
}
template <std::size_t D>
Tensor<D> beta(Sizes<D> shape, double a, double b, const Device& device, RandomKey key = {}, DType dtype = DType::F32) {
  return Typed{beta(Shape(shape, shape + D), a, b, device, dtype, key)};
}
template <std::size_t D>
Tensor<D> poisson(Sizes<D> shape, double rate, const Device& device, RandomKey key = {}, DType dtype = DType::F32) {
  return Typed{poisson(Shape(shape, shape + D), rate, device, dtype, key)};
}
/// Integers in [low, high).
template <std::size_t D>
Tensor<D, Int> randint(Sizes<D> shape, std::int64_t low, std::int64_t high, const Device& device, RandomKey key = {},
                       DType dtype = DType::I64) {
  return Typed{randint(Shape(shape, shape + D), low, high, device, dtype, key)};
}
/// 0, 1, ..., count - 1 in a random order.
inline Tensor<1, Int> randperm(std::int64_t count, const Device& device, RandomKey key = {}, DType dtype = DType::I64) {
  return Typed{randperm(Scalar(count), device, dtype, key)};
}

// ---- of rank 0: randn({}, device) -------------------------------------------------------------------------------------
inline Tensor<0> rand(NoSizes, const Device& device, RandomKey key = {}, DType dtype = DType::F32) {
  return Typed{uniform(Shape(), 0, 1, device, dtype, key)};
}
inline Tensor<0> randn(NoSizes, const Device& device, RandomKey key = {}, DType dtype = DType::F32) {
  return Typed{normal(Shape(), 0, 1, device, dtype, key)};
}
inline Tensor<0> uniform(NoSizes, double low, double high, const Device& device, RandomKey key = {},
                         DType dtype = DType::F32) {
  return Typed{uniform(Shape(), low, high, device, dtype, key)};
}
inline Tensor<0> normal(NoSizes, double mean, double deviation, const Device& device, RandomKey key = {},
                        DType dtype = DType::F32) {
  return Typed{normal(Shape(), mean, deviation, device, dtype, key)};
}
inline Tensor<0> truncated_normal(NoSizes, const NormalWithin& distribution, const Device& device, RandomKey key = {},
                                  DType dtype = DType::F32) {
  return Typed{truncated_normal(Shape(), distribution, device, dtype, key)};
}
inline Tensor<0> bernoulli(NoSizes, double probability, const Device& device, RandomKey key = {},
                           DType dtype = DType::F32) {
  return Typed{bernoulli(Shape(), probability, device, dtype, key)};
}
inline Tensor<0> exponential(NoSizes, double rate, const Device& device, RandomKey key = {}, DType dtype = DType::F32) {
  return Typed{exponential(Shape(), rate, device, dtype, key)};
}
inline Tensor<0> gamma(NoSizes, double concentration, double scale, const Device& device, RandomKey key = {},
                       DType dtype = DType::F32) {
  return Typed{gamma(Shape(), concentration, scale, device, dtype, key)};
}
inline Tensor<0> beta(NoSizes, double a, double b, const Device& device, RandomKey key = {}, DType dtype = DType::F32) {
  return Typed{beta(Shape(), a, b, device, dtype, key)};
}
inline Tensor<0> poisson(NoSizes, double rate, const Device& device, RandomKey key = {}, DType dtype = DType::F32) {
  return Typed{poisson(Shape(), rate, device, dtype, key)};
}
inline Tensor<0, Int> randint(NoSizes, std::int64_t low, std::int64_t high, const Device& device, RandomKey key = {},
                              DType dtype = DType::I64) {
  return Typed{randint(Shape(), low, high, device, dtype, key)};
}

// ---- parameters that are tensors -------------------------------------------------------------------------------------
template <Operand Low, Operand High>
Tensor<kJoinedRank<Low, High>> uniform(const Low& low, const High& high, RandomKey key = {}) {
  return Typed{uniform(Value(low), Value(high), key)};
}
template <Operand Mean, Operand Deviation>
Tensor<kJoinedRank<Mean, Deviation>> normal(const Mean& mean, const Deviation& deviation, RandomKey key = {}) {
  return Typed{normal(Value(mean), Value(deviation), key)};
}
template <int D>
Tensor<D> bernoulli(const Tensor<D>& probability, RandomKey key = {}) {
  return Typed{bernoulli(probability.value(), key)};
}
template <int D>
Tensor<D> exponential(const Tensor<D>& rate, RandomKey key = {}) {
  return Typed{exponential(rate.value(), key)};
}
template <int D>
Tensor<D> gamma(const Tensor<D>& concentration, RandomKey key = {}) {
  return Typed{gamma(concentration.value(), key)};
}
template <Operand A, Operand B>
Tensor<kJoinedRank<A, B>> beta(const A& a, const B& b, RandomKey key = {}) {
  return Typed{beta(Value(a), Value(b), key)};
}
template <int D>
Tensor<D> poisson(const Tensor<D>& rate, RandomKey key = {}) {
  return Typed{poisson(rate.value(), key)};
}
/// Indices along the last dimension, each with a probability proportional to its weight.
template <int D, class K>
Tensor<D - 1, Int> categorical(const Tensor<D, K>& weights, RandomKey key = {}) {
  return Typed{categorical(weights.value(), key)};
}
/// `count` indices; without replacement no index occurs twice, and the call waits for the device.
template <int D, class K>
Tensor<D, Int> multinomial(const Tensor<D, K>& weights, std::int64_t count, bool replacement = false,
                           RandomKey key = {}) {
  return Typed{multinomial(weights.value(), count, replacement, key)};
}

// ---- with the shape, type and device of x --------------------------------------------------------------------------
template <int D>
Tensor<D> rand_like(const Tensor<D>& x, RandomKey key = {}) {
  return Typed{uniform_like(x.value(), 0, 1, key)};
}
template <int D>
Tensor<D> randn_like(const Tensor<D>& x, RandomKey key = {}) {
  return Typed{normal_like(x.value(), 0, 1, key)};
}
template <int D>
Tensor<D> uniform_like(const Tensor<D>& x, double low, double high, RandomKey key = {}) {
  return Typed{uniform_like(x.value(), low, high, key)};
}
template <int D>
Tensor<D> normal_like(const Tensor<D>& x, double mean, double deviation, RandomKey key = {}) {
  return Typed{normal_like(x.value(), mean, deviation, key)};
}
template <int D, class K>
Tensor<D, K> bernoulli_like(const Tensor<D, K>& x, double probability, RandomKey key = {}) {
  return Typed{bernoulli_like(x.value(), probability, key)};
}
template <int D>
Tensor<D> exponential_like(const Tensor<D>& x, double rate = 1, RandomKey key = {}) {
  return Typed{exponential_like(x.value(), rate, key)};
}
template <int D>
Tensor<D, Int> randint_like(const Tensor<D, Int>& x, std::int64_t low, std::int64_t high, RandomKey key = {}) {
  return Typed{randint_like(x.value(), low, high, key)};
}

}  // namespace kiln
