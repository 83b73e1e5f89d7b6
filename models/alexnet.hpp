// AlexNet in its version of one tower (Krizhevsky, "One weird trick for parallelizing convolutional neural networks",
// 2014), as torchvision has it.
#pragma once
#include <array>
#include <vector>

#include "kiln/nn/linear.hpp"
#include "kiln/nn/regularization/dropout.hpp"
#include "models/images.hpp"

namespace kiln::models {

/// Five convolutions, each with a relu. The first, second and fifth are followed by a pooling that halves the size.
struct AlexNetFeatures {
  std::vector<nn::Conv2d> convolutions;

  /// images [batch, channels, height, width] -> the output of each relu. Throws ShapeError, also for images that are too
  /// small: 63 pixels or more fit.
  std::vector<Tensor<4>> layers(const Tensor<4>& images) const;
  /// Returns the last output, pooled.
  Tensor<4> forward(const Tensor<4>& images) const;
};

struct AlexNetFeaturesConfig {
  std::array<std::int64_t, 5> widths = {64, 192, 384, 256, 256};  // channels of each convolution's output
  std::int64_t channels = 3;                                      // channels of the images

  /// Throws ArgumentError for a size below 1.
  AlexNetFeatures init(const Device& device) const;
};

struct AlexNet {
  AlexNetFeatures features;
  nn::Linear hidden1, hidden2, head;
  nn::Dropout dropout;  // applied to the inputs of the hidden layers

  /// images [batch, channels, height, width], of 63 pixels or more -> logits [batch, classes]. Throws ShapeError.
  Tensor<2> forward(const Tensor<4>& images) const;
};

struct AlexNetConfig {
  AlexNetFeaturesConfig features = {};
  std::int64_t hidden = 4096;
  std::int64_t classes = 1000;
  double dropout = 0.5;

  /// Throws ArgumentError for a size below 1.
  AlexNet init(const Device& device) const;
};

}  // namespace kiln::models
