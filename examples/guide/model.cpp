#include "examples/guide/model.hpp"

namespace guide {

Tensor<2> Model::forward(const Tensor<3>& images) const {
  Tensor<4> x = dropout.forward(conv1.forward(images.unsqueeze(1)));          // [batch, 8, 26, 26]
  x = pool.forward(activation.forward(dropout.forward(conv2.forward(x))));    // [batch, 16, 8, 8]
  const Tensor<2> hidden = dropout.forward(linear1.forward(x.flatten<1>()));  // [batch, hidden]
  return linear2.forward(activation.forward(hidden));
}

Model ModelConfig::init(const Device& device) const {
  return {.conv1 = nn::Conv2dConfig{.in = 1, .out = 8, .kernel = {3}}.init(device),
          .conv2 = nn::Conv2dConfig{.in = 8, .out = 16, .kernel = {3}}.init(device),
          .pool = {.sizes = {8, 8}},
          .dropout = {.probability = dropout},
          .linear1 = nn::LinearConfig{.in = 16 * 8 * 8, .out = hidden_size}.init(device),
          .linear2 = nn::LinearConfig{.in = hidden_size, .out = num_classes}.init(device),
          .activation = {}};
}

}  // namespace guide
