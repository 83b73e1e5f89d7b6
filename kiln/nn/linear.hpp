// The fully connected layer.
#pragma once
#include "kiln/nn/initializer.hpp"
#include "kiln/nn/param.hpp"
#include "kiln/ops/product/linear.hpp"

namespace kiln::nn {

/// y = x W^T + b, as PyTorch's.
struct Linear {
  Param<2> weight;  // [out, in]
  Param<1> bias;    // [out], or absent

  /// x [..., in] -> [..., out]. Throws ShapeError.
  template <int D>
  requires(D >= 1) Tensor<D> forward(const Tensor<D>& x) const {
    return Typed{kiln::linear(x.value(), weight.value(), bias.value())};
  }
};

struct LinearConfig {
  std::int64_t in, out;
  bool bias = true;
  Initializer initializer = kLayerDefault;

  /// Throws ArgumentError where a size is below 1.
  Linear init(const Device& device) const;
};

}  // namespace kiln::nn
