// Normalisation layers.
#pragma once
#include "kiln/nn/mode.hpp"
#include "kiln/nn/param.hpp"

namespace kiln::nn {

/// Over each channel of [batch, channels, sizes...]: in Mode::Train by the batch's own mean and variance, which also
/// move the running ones; in Mode::Valid by the running ones (Ioffe, Szegedy, "Batch normalization", 2015).
struct BatchNorm {
  Param<1> weight, bias;                // [channels]
  Buffer<1> running_mean, running_var;  // [channels]; the variance divides by count - 1, as PyTorch's
  double momentum = 0.1;                // the share of the new batch in the running statistics
  double epsilon = 1e-5;
  Mode mode = Mode::Train;

  /// x [batch, channels, sizes...], sizes being 0 to 3 dimensions. Throws ShapeError; in training also where a channel
  /// has less than two elements.
  template <int D>
  requires(2 <= D && D <= 5) Tensor<D> forward(const Tensor<D>& x) const {
    return Typed{normalise(x.value())};
  }

 private:
  Value normalise(const Value& x) const;
};

struct BatchNormConfig {
  std::int64_t channels;
  double momentum = 0.1, epsilon = 1e-5;
  BatchNorm init(const Device& device) const;
};

/// Over the last dimension, then scaled and shifted (Ba, Kiros, Hinton, "Layer normalization", 2016).
struct LayerNorm {
  Param<1> weight, bias;  // [size]
  double epsilon = 1e-5;

  /// x [..., size]
  template <int D>
  requires(D >= 1) Tensor<D> forward(const Tensor<D>& x) const {
    return Typed{layer_norm(x.value(), weight.value(), bias.value(), epsilon)};
  }
};

struct LayerNormConfig {
  std::int64_t size;
  double epsilon = 1e-5;
  LayerNorm init(const Device& device) const;
};

}  // namespace kiln::nn
