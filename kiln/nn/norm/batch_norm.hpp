// Normalisation by the statistics of a batch and of earlier ones.
#pragma once
#include "kiln/nn/mode.hpp"
#include "kiln/nn/module/skip.hpp"
#include "kiln/nn/param.hpp"
#include "kiln/ops/collective/communicator.hpp"
#include "kiln/ops/norm/normalization.hpp"

namespace kiln::nn {

struct BatchNormConfig;

/// Normalises each channel of [batch, channels, sizes...]: in Mode::Train by the batch's own mean and variance, which
/// also update the running ones; in Mode::Valid by the running ones (Ioffe, Szegedy, "Batch normalization", 2015).
struct BatchNorm {
  using Config = BatchNormConfig;
  Param<1> weight, bias;                // [channels], or absent
  Buffer<1> running_mean, running_var;  // [channels]; the variance divides by count - 1, as in PyTorch
  double momentum = 0.1;                // the weight of the new batch in the running statistics
  double epsilon = 1e-5;
  Mode mode = Mode::Train;
  Skip<Ranks> ranks{};  // the ranks whose batches are normalised together; set by sync_batch_norm()

  /// x [batch, channels, sizes...] with 0 to 3 sizes. Throws ShapeError; in training also if a channel has less than
  /// two elements.
  template <int D>
  requires(2 <= D && D <= 5) Tensor<D> forward(const Tensor<D>& x) const {
    return Typed{apply(x.value())};
  }
  Value apply(const Value& x) const;
};

struct BatchNormConfig {
  std::int64_t channels = 0;
  double momentum = 0.1, epsilon = 1e-5;
  bool affine = true;  // has a weight and a bias
  BatchNorm init(const Device& device) const;
};

}  // namespace kiln::nn
