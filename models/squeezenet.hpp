// SqueezeNet 1.1 (Iandola, Han, Moskewicz, Ashraf, Dally, Keutzer, "SqueezeNet: AlexNet-level accuracy with 50x fewer
// parameters", 2016), as torchvision has it.
#pragma once
#include <vector>

#include "kiln/nn/regularization/dropout.hpp"
#include "models/images.hpp"

namespace kiln::models {

/// Squeezes the channels, and expands them by two convolutions whose outputs are concatenated.
struct Fire {
  nn::Conv2d squeeze, expand1x1, expand3x3;

  /// x [batch, in, height, width] -> [batch, 2 expand, height, width]
  Tensor<4> forward(const Tensor<4>& x) const;
};

struct SqueezeNetFeatures {
  nn::Conv2d stem;
  std::vector<Fire> fires;
  std::vector<bool> pooled;  // which of the fires gets its input at half the size

  /// images [batch, channels, height, width] -> the output of the stem's relu and that of each fire. Throws ShapeError,
  /// also for images below 25 pixels.
  std::vector<Tensor<4>> layers(const Tensor<4>& images) const;
};

struct SqueezeNetFeaturesConfig {
  struct Stage {
    std::int64_t squeeze, expand;  // channels of the squeezing convolution, and of each of the two that expand
    bool pooled = false;
  };
  std::int64_t stem = 64;
  std::vector<Stage> fires = {{16, 64, true},  {16, 64},  {32, 128, true}, {32, 128},
                              {48, 192, true}, {48, 192}, {64, 256},       {64, 256}};
  std::int64_t channels = 3;  // channels of the images

  /// Throws ArgumentError for a size below 1.
  SqueezeNetFeatures init(const Device& device) const;
};

struct SqueezeNet {
  SqueezeNetFeatures features;
  nn::Dropout dropout;
  nn::Conv2d head;  // scores of the classes at each place, which are averaged

  /// images [batch, channels, height, width], of 25 pixels or more -> logits [batch, classes]. Throws ShapeError.
  Tensor<2> forward(const Tensor<4>& images) const;
};

struct SqueezeNetConfig {
  SqueezeNetFeaturesConfig features = {};
  std::int64_t classes = 1000;
  double dropout = 0.5;

  /// Throws ArgumentError for a size below 1.
  SqueezeNet init(const Device& device) const;
};

}  // namespace kiln::models
