// The fully connected layer.
#pragma once
#include "kiln/nn/initializer.hpp"
#include "kiln/nn/param.hpp"

namespace kiln::nn {

/// x [..., in], weight [out, in], bias [out] or empty -> [..., out]. Throws ShapeError.
Value linear(const Value& x, const Value& weight, const Value& bias);

/// y = x W^T + b, as PyTorch's.
struct Linear {
  Param<2> weight;  // [out, in]
  Param<1> bias;    // [out], or absent

  /// x [..., in] -> [..., out]
  template <int D>
  requires(D >= 1) Tensor<D> forward(const Tensor<D>& x) const {
    return Typed{linear(x, weight, bias)};
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
