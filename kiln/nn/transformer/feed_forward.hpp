// The feed-forward networks of transformers, which process each element by itself, and mixtures of them.
#pragma once
#include "kiln/nn/activation/choice.hpp"
#include "kiln/nn/regularization/dropout.hpp"

namespace kiln::nn {

/// outer(dropout(activation(inner(x)))); with a gate, outer(dropout(activation(gate(x)) * inner(x))), which is SwiGLU
/// if the activation is Silu (Shazeer, "GLU variants improve transformer", 2020).
struct PositionWiseFeedForward {
  Linear inner, outer;  // width -> hidden -> width
  std::optional<Linear> gate = {};
  Activation activation = Gelu{};
  Dropout dropout = {.probability = 0};

  /// x [..., width]
  template <int D>
  requires(D >= 1) Tensor<D> forward(const Tensor<D>& x) const {
    return Typed{apply(x.value())};
  }
  Value apply(const Value& x) const;
};

struct PositionWiseFeedForwardConfig {
  std::int64_t width;
  std::int64_t hidden = 0;  // 0: 4 * width
  ActivationConfig activation = Gelu{};
  bool gated = false;
  double dropout = 0;
  bool bias = true;
  Initializer initializer = kLayerDefault;
  /// Throws ArgumentError for sizes below 1.
  PositionWiseFeedForward init(const Device& device) const;
};

/// The output of a mixture, and how evenly its experts were used.
struct MixtureResult {
  Tensor<2> output;   // [tokens, width]
  Tensor<0> balance;  // 1 if all experts are used evenly, at most their number; about 0.01 of it is added to the loss
};

/// A mixture of experts: a router selects the best few experts for each token, and weights their outputs (Shazeer et
/// al., "Outrageously large neural networks", 2017; the balance is that of Fedus, Zoph, Shazeer, "Switch transformers",
/// 2021).
struct MixtureOfExperts {
  Linear router;  // width -> experts
  std::vector<PositionWiseFeedForward> experts;
  std::int64_t asked = 2;  // experts per token
  bool normalized = true;  // the weights of the selected experts sum to 1

  /// x [..., width]. Each expert only computes its tokens, so this waits for the device to know which these are.
  template <int D>
  requires(D >= 1) Tensor<D> forward(const Tensor<D>& x) const {
    return Typed{reshape(mix(Tensor<2>(rows(x.value()))).output.value(), x.shape())};
  }
  /// x [tokens, width]
  MixtureResult mix(const Tensor<2>& x) const;

 private:
  static Value rows(const Value& x);
};

struct MixtureOfExpertsConfig {
  PositionWiseFeedForwardConfig expert;
  std::int64_t experts = 8, asked = 2;
  bool normalized = true;
  /// Throws ArgumentError if more experts are asked than exist.
  MixtureOfExperts init(const Device& device) const;
};

}  // namespace kiln::nn
