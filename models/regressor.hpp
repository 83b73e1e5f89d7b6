// A regression network: linear layers with activations between them.
#pragma once
#include <vector>

#include "kiln/nn/activation/choice.hpp"
#include "kiln/nn/linear.hpp"
#include "kiln/nn/regularization/dropout.hpp"

namespace kiln::models {

struct Regressor {
  std::vector<nn::Linear> hidden;
  nn::Activation activation;
  nn::Dropout dropout;
  nn::Linear output;

  /// x [batch, features] -> [batch]
  Tensor<1> forward(const Tensor<2>& x) const;
};

struct RegressorConfig {
  std::int64_t features;
  std::vector<std::int64_t> hidden = {128, 128};
  nn::ActivationConfig activation = nn::Silu{};
  double dropout = 0;
  Regressor init(const Device& device) const;
};

}  // namespace kiln::models
