// Normalisations of the channels of each example, [batch, channels, sizes...], by themselves: the same while training
// and after.
#pragma once
#include "kiln/nn/param.hpp"

namespace kiln::nn {

struct GroupNormConfig;
struct InstanceNormConfig;

/// Each of `groups` runs of channels by its own mean and variance, then scaled and shifted by channel (Wu, He, "Group
/// normalization", 2018).
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
  /// Throws ArgumentError where the groups do not divide the channels.
  GroupNorm init(const Device& device) const;
};

/// Each channel of each example by itself (Ulyanov, Vedaldi, Lempitsky, "Instance normalization", 2016).
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
  bool affine = true;  // PyTorch's has none unless asked
  InstanceNorm init(const Device& device) const;
};

/// Across neighbouring channels: x / (k + alpha / size * sum of `size` squares)^beta (Krizhevsky, Sutskever, Hinton, 2012).
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
