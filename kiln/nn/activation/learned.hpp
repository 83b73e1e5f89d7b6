// Activations that have parameters or use random numbers.
#pragma once
#include "kiln/nn/linear.hpp"
#include "kiln/nn/mode.hpp"

namespace kiln::nn {

struct PReluConfig;
struct SwiGluConfig;

/// x, or weight * x where x is negative (He, Zhang, Ren, Sun, "Delving deep into rectifiers", 2015).
struct PRelu {
  using Config = PReluConfig;
  Param<1> weight;  // [1], or one per channel (dimension 1)

  Value apply(const Value& x) const;
  template <int D>
  Tensor<D> forward(const Tensor<D>& x) const {
    return Typed{apply(x.value())};
  }
};

struct PReluConfig {
  std::int64_t count = 1;  // the number of weights: 1, or the channels of x
  double start = 0.25;
  /// Throws ArgumentError for a count below 1.
  PRelu init(const Device& device) const;
};

/// x, or slope * x where x is negative: in Mode::Train the slope is random in [low, high) for each element, in
/// Mode::Valid it is their mean (Xu et al., "Empirical evaluation of rectified activations", 2015).
struct RRelu {
  double low = 1.0 / 8, high = 1.0 / 3;
  Mode mode = Mode::Train;

  /// Throws ArgumentError if low is above high.
  Value apply(const Value& x) const;
  template <int D>
  Tensor<D> forward(const Tensor<D>& x) const {
    return Typed{apply(x.value())};
  }
};

/// silu(gate(x)) * value(x) (Shazeer, "GLU variants improve transformer", 2020).
struct SwiGlu {
  using Config = SwiGluConfig;
  Linear gate, value;  // in -> out

  /// x [..., in] -> [..., out]
  Value apply(const Value& x) const;
  template <int D>
  requires(D >= 1) Tensor<D> forward(const Tensor<D>& x) const {
    return Typed{apply(x.value())};
  }
};

struct SwiGluConfig {
  std::int64_t in, out;
  bool bias = false;
  Initializer initializer = kLayerDefault;
  SwiGlu init(const Device& device) const;
};

}  // namespace kiln::nn
