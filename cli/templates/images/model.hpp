// A convolutional network for colour pictures of any size from 8 x 8 pixels on.
#pragma once
#include <cstdint>

#include <kiln/kiln.hpp>

struct Model {
  kiln::nn::Conv2d conv1, conv2;
  kiln::nn::Linear output;

  /// x [batch, 3, height, width] -> scores [batch, classes]
  kiln::Tensor<2> forward(const kiln::Tensor<4>& x) const {
    const kiln::Tensor<4> coarse = conv1.forward(x).relu();     // [batch, width, height / 2, ...]
    const kiln::Tensor<4> fine = conv2.forward(coarse).relu();  // [batch, 2 width, height / 4, ...]
    const kiln::Tensor<4> seen = kiln::nn::AdaptiveAvgPool2d{.sizes = {4, 4}}.forward(fine);  // [batch, 2 width, 4, 4]
    return output.forward(seen.flatten<1>());
  }
};

struct ModelConfig {
  std::int64_t classes, width = 16;

  Model init(const kiln::Device& device) const {
    using kiln::nn::Conv2dConfig;
    return {
        .conv1 = Conv2dConfig{.in = 3, .out = width, .kernel = {3}, .stride = {2}, .padding = {1}}.init(device),
        .conv2 = Conv2dConfig{.in = width, .out = 2 * width, .kernel = {3}, .stride = {2}, .padding = {1}}.init(device),
        .output = kiln::nn::LinearConfig{.in = 2 * width * 16, .out = classes}.init(device)};
  }
};
