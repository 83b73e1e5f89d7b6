// The fully connected layer, with one input or two.
#pragma once
#include "kiln/nn/initializer.hpp"
#include "kiln/nn/param.hpp"
#include "kiln/ops/product/linear.hpp"

namespace kiln::nn {

/// y = x W^T + b, as in PyTorch.
struct Linear {
  Param<2> weight;  // [out, in]
  Param<1> bias;    // [out], or absent

  /// x [..., in] -> [..., out]. Throws ShapeError.
  template <int D>
  requires(D >= 1) Tensor<D> forward(const Tensor<D>& x) const {
    return forward_with(weight, x);
  }
  /// Uses another weight of the same shape.
  template <int D>
  requires(D >= 1) Tensor<D> forward_with(const Tensor<2>& other, const Tensor<D>& x) const {
    return Typed{kiln::linear(x.value(), other.value(), bias.value())};
  }
};

struct LinearConfig {
  std::int64_t in, out;
  bool bias = true;
  Initializer initializer = kLayerDefault;

  /// Throws ArgumentError if a size is below 1.
  Linear init(const Device& device) const;
};

/// y_k = a^T W_k b + bias_k
struct Bilinear {
  Param<3> weight;  // [out, in_a, in_b]
  Param<1> bias;    // [out], or absent

  /// a [..., in_a], b [..., in_b] -> [..., out]; leading dimensions are the same. Throws ShapeError.
  template <int D>
  requires(D >= 1) Tensor<D> forward(const Tensor<D>& a, const Tensor<D>& b) const {
    return Typed{apply(a.value(), b.value())};
  }
  Value apply(const Value& a, const Value& b) const;
};

struct BilinearConfig {
  std::int64_t in_a, in_b, out;
  bool bias = true;
  Initializer initializer = kLayerDefault;  // for each output in_a inputs are counted, as in PyTorch
  Bilinear init(const Device& device) const;
};

}  // namespace kiln::nn
