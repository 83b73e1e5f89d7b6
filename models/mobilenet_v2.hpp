// MobileNetV2 (Sandler, Howard, Zhu, Zhmoginov, Chen, "Inverted residuals and linear bottlenecks", 2018).
#pragma once
#include <optional>
#include <vector>

#include "kiln/nn/linear.hpp"
#include "kiln/nn/regularization/dropout.hpp"
#include "models/images.hpp"

namespace kiln::models {

/// Expands the channels, filters each channel separately, and projects to few channels again, without an activation.
struct InvertedResidual {
  std::optional<NormedConv> expand;  // empty if the block's expansion is 1
  NormedConv depthwise, project;
  bool residual = false;  // adds x to the result

  /// x [batch, in, height, width] -> [batch, out, height / stride, width / stride]
  Tensor<4> forward(const Tensor<4>& x) const;
};

struct MobileNetV2 {
  NormedConv stem;
  std::vector<InvertedResidual> blocks;
  NormedConv last;
  nn::Dropout dropout;
  nn::Linear head;

  /// images [batch, channels, height, width] -> logits [batch, classes]. Throws ShapeError.
  Tensor<2> forward(const Tensor<4>& images) const;
};

struct MobileNetV2Config {
  /// A sequence of equal blocks, the first of which has the stride.
  struct Stage {
    std::int64_t expansion, channels, blocks, stride;
  };
  std::vector<Stage> stages = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                               {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  double width = 1;  // factor of all channels, which are rounded to multiples of 8
  std::int64_t classes = 1000;
  std::int64_t channels = 3;  // channels of the images
  double dropout = 0.2;

  /// Throws ArgumentError for a size that is not positive.
  MobileNetV2 init(const Device& device) const;
};

}  // namespace kiln::models
