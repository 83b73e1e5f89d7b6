// ResNet (He, Zhang, Ren, Sun, "Deep residual learning for image recognition", 2016), with the stride in the 3x3
// convolution of a bottleneck, as torchvision has it.
#pragma once
#include <optional>
#include <vector>

#include "kiln/nn/linear.hpp"
#include "models/images.hpp"

namespace kiln::models {

/// Two 3x3 convolutions, or a bottleneck of 1x1, 3x3 and 1x1, with a shortcut.
struct ResNetBlock {
  NormedConv conv1, conv2;
  std::optional<NormedConv> conv3;     // only in a bottleneck
  std::optional<NormedConv> shortcut;  // if the block changes the shape

  /// x [batch, in, height, width] -> [batch, out, height / stride, width / stride]
  Tensor<4> forward(const Tensor<4>& x) const;
};

struct ResNet {
  NormedConv stem;
  std::vector<std::vector<ResNetBlock>> stages;
  nn::Linear head;

  /// images [batch, channels, height, width] -> [batch, features, height / 32, width / 32], rounded up. Throws
  /// ShapeError.
  Tensor<4> features(const Tensor<4>& images) const;
  /// images [batch, channels, height, width] -> logits [batch, classes]. Throws ShapeError.
  Tensor<2> forward(const Tensor<4>& images) const;
};

struct ResNetConfig {
  std::vector<std::int64_t> blocks = {2, 2, 2, 2};  // in each stage; a stage has twice the width of the previous one
  bool bottleneck = false;
  std::int64_t classes = 1000;
  std::int64_t channels = 3;  // channels of the images
  std::int64_t width = 64;    // width of the stem

  /// Throws ArgumentError for a size below 1.
  ResNet init(const Device& device) const;
};

/// Returns the paper's network of a depth: 18, 34 or 50. Throws ArgumentError for another depth.
ResNetConfig resnet(int depth);

}  // namespace kiln::models
