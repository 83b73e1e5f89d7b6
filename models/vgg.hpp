// VGG (Simonyan, Zisserman, "Very deep convolutional networks for large-scale image recognition", 2015).
#pragma once
#include <vector>

#include "kiln/nn/linear.hpp"
#include "kiln/nn/regularization/dropout.hpp"
#include "models/images.hpp"

namespace kiln::models {

/// Stages of 3x3 convolutions, each with a relu. The size is halved between stages.
struct VggFeatures {
  std::vector<std::vector<nn::Conv2d>> stages;

  /// images [batch, channels, height, width] -> the outputs of each relu of the first `count` stages. Papers name them
  /// after stage and convolution: relu4_2 is [3][1]. Throws ShapeError, also for images that are too small to be
  /// halved.
  std::vector<std::vector<Tensor<4>>> layers(const Tensor<4>& images, std::size_t count) const;
  /// Returns the last output, halved once more: [batch, features, height / 2^stages, width / 2^stages], rounded down.
  Tensor<4> forward(const Tensor<4>& images) const;
};

struct VggFeaturesConfig {
  std::vector<std::int64_t> convolutions = {2, 2, 4, 4, 4};  // in each stage
  std::int64_t width = 64;    // width of the first stage; the next ones are twice as wide each, up to eight times
  std::int64_t channels = 3;  // channels of the images

  /// Throws ArgumentError for a size below 1.
  VggFeatures init(const Device& device) const;
  /// Returns the number of channels of the last stage.
  std::int64_t features() const;
};

struct Vgg {
  VggFeatures features;
  nn::Linear hidden1, hidden2, head;
  nn::Dropout dropout;  // applied to the outputs of the hidden layers

  /// images [batch, channels, height, width], of 32 pixels or more -> logits [batch, classes]. Throws ShapeError.
  Tensor<2> forward(const Tensor<4>& images) const;
};

/// The defaults are VGG-19.
struct VggConfig {
  VggFeaturesConfig features = {};
  std::int64_t hidden = 4096;
  std::int64_t classes = 1000;
  double dropout = 0.5;

  /// Throws ArgumentError for a size below 1.
  Vgg init(const Device& device) const;
};

/// Returns the paper's network of a depth: 11, 13, 16 or 19. Throws ArgumentError for another depth.
VggConfig vgg(int depth);

}  // namespace kiln::models
