// Normalisations of the channels of each example [batch, channels, sizes...] by itself, the same in training and
// inference.
#pragma once
#include "kiln/nn/param.hpp"

namespace kiln::nn {

struct GroupNormConfig;
struct InstanceNormConfig;

/// Normalises each of `groups` groups of neighbouring channels by its own mean and variance, then scales and shifts
/// each channel (Wu, He, "Group normalization", 2018).
struct GroupNorm {
  using Config = GroupNormConfig;
  Param<1> weight, bias;  // [channels], or absent
  std::int64_t groups = 1;
  double epsilon = 1e-5;

  /// x [batch, channels, sizes...]. Throws ShapeError.
  template <int D>
  requires(D >= 2) Tensor<D> forward(const Tensor<D>& x) const {
    return Typed{apply(x.value())};
  }
  Value apply(const Value& x) const;
};

struct GroupNormConfig {
  std::int64_t groups = 1, channels = 0;
  double epsilon = 1e-5;
  bool affine = true;
  /// Throws ArgumentError if the groups do not divide the channels.
  GroupNorm init(const Device& device) const;
};

/// Normalises each channel of each example by itself (Ulyanov, Vedaldi, Lempitsky, "Instance normalization", 2016).
struct InstanceNorm {
  using Config = InstanceNormConfig;
  Param<1> weight, bias;  // [channels], or absent
  double epsilon = 1e-5;

  /// x [batch, channels, sizes...]. Throws ShapeError.
  template <int D>
  requires(D >= 2) Tensor<D> forward(const Tensor<D>& x) const {
    return Typed{apply(x.value())};
  }
  Value apply(const Value& x) const;
};

struct InstanceNormConfig {
  std::int64_t channels = 0;
  double epsilon = 1e-5;
  bool affine = true;  // false by default in PyTorch
  InstanceNorm init(const Device& device) const;
};

/// x / (k + alpha / size * sum of squares)^beta, summed over `size` neighbouring channels (Krizhevsky, Sutskever,
/// Hinton, 2012).
struct LocalResponseNorm {
  std::int64_t size = 5;
  double alpha = 1e-4, beta = 0.75, k = 1;

  /// x [batch, channels, sizes...]
  template <int D>
  requires(D >= 2) Tensor<D> forward(const Tensor<D>& x) const {
    return Typed{apply(x.value())};
  }
  Value apply(const Value& x) const;
};

}  // namespace kiln::nn
