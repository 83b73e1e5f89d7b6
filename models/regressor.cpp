#include "models/regressor.hpp"

namespace kiln::models {

Tensor<1> Regressor::forward(const Tensor<2>& x) const {
  Tensor<2> y = x;
  for (const nn::Linear& layer : hidden) y = dropout.forward(activation.forward(layer.forward(y)));
  return output.forward(y).squeeze(1);
}

Regressor RegressorConfig::init(const Device& device) const {
  Regressor model;
  model.activation = nn::Activation::from(activation, device);
  model.dropout.probability = dropout;
  std::int64_t in = features;
  for (const std::int64_t width : hidden) {
    model.hidden.push_back(nn::LinearConfig{.in = in, .out = width}.init(device));
    in = width;
  }
  model.output = nn::LinearConfig{.in = in, .out = 1}.init(device);
  return model;
}

}  // namespace kiln::models
