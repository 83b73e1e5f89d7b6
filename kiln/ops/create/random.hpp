// Random tensors. Every function takes a key, or a Generator that gives its next one, or uses the device's stream. An
// element is a pure function of the key and its index: the same on any device and any number of threads.
//
// Parameters are plain numbers, checked when the function is called, or tensors whose shapes broadcast to the result's;
// an invalid parameter in a tensor gives NaN. Gradients flow to the parameters of uniform, normal and exponential,
// whose samples are functions of them. Discrete samples have no gradient and are not tracked; gamma and beta throw
// AutodiffError for a tracked parameter.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

using RandomKey = std::optional<Key>;

/// low + (high - low) * u
Value uniform(const Value& low, const Value& high, RandomKey key = {});
/// mean + deviation * z
Value normal(const Value& mean, const Value& deviation, RandomKey key = {});
/// The normal distribution within [low, high], of which either may be infinite.
struct NormalWithin {
  double mean = 0, deviation = 1, low = -2, high = 2;
};
Value truncated_normal(const Shape& shape, const NormalWithin& distribution, const Device& device,
                       DType dtype = DType::F32, RandomKey key = {});

/// 1 with the probability of each element, else 0; probabilities are resolved to 2^-24.
Value bernoulli(const Value& probability, RandomKey key = {});

/// Density rate * exp(-rate * x); the result is never 0.
Value exponential(const Shape& shape, double rate, const Device& device, DType dtype = DType::F32, RandomKey key = {});
Value exponential(const Value& rate, RandomKey key = {});
/// Density proportional to x^(concentration - 1) * exp(-x / scale).
Value gamma(const Shape& shape, double concentration, double scale, const Device& device, DType dtype = DType::F32,
            RandomKey key = {});
Value gamma(const Value& concentration, RandomKey key = {});
/// Density proportional to x^(a - 1) * (1 - x)^(b - 1).
Value beta(const Shape& shape, double a, double b, const Device& device, DType dtype = DType::F32, RandomKey key = {});
Value beta(const Value& a, const Value& b, RandomKey key = {});
/// Counts of events, as floats.
Value poisson(const Shape& shape, double rate, const Device& device, DType dtype = DType::F32, RandomKey key = {});
Value poisson(const Value& rate, RandomKey key = {});

/// weights [..., classes] -> [...]: class indices, each with a probability proportional to its weight; int64. From
/// logits: categorical(softmax(logits, -1)). Throws ArgumentError for a negative weight, or a row without a positive
/// one.
Value categorical(const Value& weights, RandomKey key = {});
/// weights [..., classes] -> [..., count]. Without replacement no index occurs twice, and the order is that of sampling
/// one after the other; the call waits for the device to check that each row has enough positive weights.
Value multinomial(const Value& weights, std::int64_t count, bool replacement = false, RandomKey key = {});

/// Integers in [low, high), without bias.
Value randint(const Shape& shape, std::int64_t low, std::int64_t high, const Device& device, DType dtype = DType::I64,
              RandomKey key = {});
/// 0, 1, ..., count - 1 in a random order.
Value randperm(const Scalar& count, const Device& device, DType dtype = DType::I64, RandomKey key = {});

// ---- with the shape, type and device of x --------------------------------------------------------------------------
Value uniform_like(const Value& x, double low = 0, double high = 1, RandomKey key = {});
Value normal_like(const Value& x, double mean = 0, double deviation = 1, RandomKey key = {});
Value bernoulli_like(const Value& x, double probability, RandomKey key = {});
Value exponential_like(const Value& x, double rate = 1, RandomKey key = {});
Value randint_like(const Value& x, std::int64_t low, std::int64_t high, RandomKey key = {});

}  // namespace kiln
