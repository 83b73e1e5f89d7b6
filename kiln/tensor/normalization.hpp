// Normalisations, and dropout.
#pragma once
#include "kiln/ops/norm/normalization.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// Normalises over the trailing dimensions that weight and bias have; either may be {}, which means 1 or 0.
template <int D, int E>
Tensor<D> layer_norm(const Tensor<D>& x, const Tensor<E>& weight, const Tensor<E>& bias, double epsilon = 1e-5) {
  static_assert(1 <= E && E <= D, "layer_norm: weight and bias have the trailing dimensions of x");
  return Typed{layer_norm(x.value(), weight.value(), bias.value(), epsilon)};
}

/// Normalises over the last dimension, without weight and bias.
template <int D>
Tensor<D> layer_norm(const Tensor<D>& x, double epsilon = 1e-5) {
  static_assert(D >= 1, "layer_norm: needs a dimension");
  return Typed{layer_norm(x.value(), 1, epsilon)};
}
/// x / sqrt(mean(x^2) + epsilon) * weight over the trailing dimensions that weight has; over the last one without a
/// weight.
template <int D, int E = 1>
Tensor<D> rms_norm(const Tensor<D>& x, const Tensor<E>& weight = {}, double epsilon = 1e-6) {
  static_assert(1 <= E && E <= D, "rms_norm: weight has the trailing dimensions of x");
  return Typed{rms_norm(x.value(), weight.value(), epsilon)};
}

// ---- of [batch, channels, sizes...]; weight and bias are [channels] or none -------------------------------------------
template <int D>
struct BatchNormTensors {
  Tensor<D> output;
  Tensor<1> mean, variance;                  // of the batch
  Tensor<1> running_mean, running_variance;  // the updated ones
};
/// Training: uses the batch's mean and variance. auto normed = batch_norm_training(x, mean, variance, weight, bias);
template <int D>
BatchNormTensors<D> batch_norm_training(const Tensor<D>& x, const Tensor<1>& running_mean,
                                        const Tensor<1>& running_variance, const Tensor<1>& weight = {},
                                        const Tensor<1>& bias = {}, const BatchNormOptions& options = {}) {
  static_assert(D >= 2, "batch_norm_training: x is [batch, channels, ...]");
  const BatchNormResult result = batch_norm_training(x.value(), running_mean.value(), running_variance.value(),
                                                     weight.value(), bias.value(), options);
  const auto running = [](const Value& value) { return value ? Tensor<1>(value) : Tensor<1>(); };
  return {Typed{result.output}, Typed{result.mean}, Typed{result.variance}, running(result.running_mean),
          running(result.running_variance)};
}
/// Inference: uses the running statistics.
template <int D>
Tensor<D> batch_norm(const Tensor<D>& x, const Tensor<1>& running_mean, const Tensor<1>& running_variance,
                     const Tensor<1>& weight = {}, const Tensor<1>& bias = {}, double epsilon = 1e-5) {
  static_assert(D >= 2, "batch_norm: x is [batch, channels, ...]");
  return Typed{
      batch_norm(x.value(), running_mean.value(), running_variance.value(), weight.value(), bias.value(), epsilon)};
}
template <int D>
Tensor<D> group_norm(const Tensor<D>& x, std::int64_t groups, const Tensor<1>& weight = {}, const Tensor<1>& bias = {},
                     double epsilon = 1e-5) {
  static_assert(D >= 2, "group_norm: x is [batch, channels, ...]");
  return Typed{group_norm(x.value(), groups, weight.value(), bias.value(), epsilon)};
}
template <int D>
Tensor<D> instance_norm(const Tensor<D>& x, const Tensor<1>& weight = {}, const Tensor<1>& bias = {},
                        double epsilon = 1e-5) {
  static_assert(D >= 2, "instance_norm: x is [batch, channels, ...]");
  return Typed{instance_norm(x.value(), weight.value(), bias.value(), epsilon)};
}
/// Normalises across neighbouring channels.
template <int D>
Tensor<D> local_response_norm(const Tensor<D>& x, const LocalResponseNormOptions& options = {}) {
  static_assert(D >= 2, "local_response_norm: x is [batch, channels, ...]");
  return Typed{local_response_norm(x.value(), options)};
}

/// Zeroes elements with the given probability and scales the others by 1 / (1 - probability).
template <int D>
Tensor<D> dropout(const Tensor<D>& x, double probability, std::optional<Key> key = {}) {
  return Typed{dropout(x.value(), probability, key)};
}

}  // namespace kiln
