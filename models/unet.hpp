// U-Net (Ronneberger, Fischer, Brox, "Convolutional networks for biomedical image segmentation", 2015), padded so that
// the result has the image's size, and with batch norm.
#pragma once
#include <vector>

#include "models/images.hpp"

namespace kiln::models {

struct UNet {
  /// Two 3 x 3 convolutions.
  struct Block {
    NormedConv conv1, conv2;
    /// x [batch, in, height, width] -> [batch, out, height, width]
    Tensor<4> forward(const Tensor<4>& x) const;
  };

  std::vector<Block> down;  // each at half the size of the previous one; the last is the bottom
  std::vector<nn::ConvTranspose2d> up;
  std::vector<Block> merge;  // take the output of `up`, and that of `down` at the same size
  nn::Conv2d head;

  /// images [batch, channels, height, width], whose height and width are multiples of 2^depth -> logits [batch,
  /// classes, height, width]. Throws ShapeError.
  Tensor<4> forward(const Tensor<4>& images) const;
};

struct UNetConfig {
  std::int64_t channels = 1;  // channels of the images
  std::int64_t classes = 2;
  std::int64_t width = 64;  // width of the first block; each further block of `down` is twice as wide
  std::int64_t depth = 4;   // how often sizes are halved

  /// Throws ArgumentError for a size below 1, or a depth above 10.
  UNet init(const Device& device) const;
};

}  // namespace kiln::models
