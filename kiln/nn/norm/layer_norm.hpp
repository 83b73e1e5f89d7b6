// Normalisations of each element of a sequence by itself, over the last dimension.
#pragma once
#include "kiln/nn/param.hpp"

namespace kiln::nn {

struct LayerNormConfig;
struct RmsNormConfig;

/// Normalises over the last dimension, then scales and shifts (Ba, Kiros, Hinton, "Layer normalization", 2016).
struct LayerNorm {
  using Config = LayerNormConfig;
  Param<1> weight, bias;  // [size]; the bias, or both, may be absent
  double epsilon = 1e-5;

  /// x [..., size]
  template <int D>
  requires(D >= 1) Tensor<D> forward(const Tensor<D>& x) const {
    return Typed{apply(x.value())};
  }
  Value apply(const Value& x) const;
};

struct LayerNormConfig {
  std::int64_t size = 0;
  double epsilon = 1e-5;
  bool affine = true;  // has a weight
  bool bias = true;    // has a bias too, if affine
  LayerNorm init(const Device& device) const;
};

/// x / sqrt(mean(x^2) + epsilon) over the last dimension, then scaled (Zhang, Sennrich, "Root mean square layer
/// normalization", 2019).
struct RmsNorm {
  using Config = RmsNormConfig;
  Param<1> weight;  // [size]
  double epsilon = 1e-5;

  /// x [..., size]
  template <int D>
  requires(D >= 1) Tensor<D> forward(const Tensor<D>& x) const {
    return Typed{apply(x.value())};
  }
  Value apply(const Value& x) const;
};

struct RmsNormConfig {
  std::int64_t size = 0;
  double epsilon = 1e-5;
  RmsNorm init(const Device& device) const;
};

}  // namespace kiln::nn
