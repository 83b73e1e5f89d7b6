// Shared parts of models of images: a convolution with its norm, and the checks of images and sizes.
#pragma once
#include <string_view>

#include "kiln/nn/norm/batch_norm.hpp"
#include "kiln/nn/spatial/conv.hpp"

namespace kiln::models {

/// A convolution without bias, which keeps the size if its stride is 1, and the norm after it.
struct NormedConv {
  nn::Conv2d conv;
  nn::BatchNorm norm;

  /// x [batch, in, height, width] -> [batch, out, height / stride, width / stride], rounded up
  Tensor<4> forward(const Tensor<4>& x) const;
};

struct NormedConvConfig {
  std::int64_t in, out;
  std::int64_t kernel = 3;  // odd
  std::int64_t stride = 1;
  std::int64_t groups = 1;

  NormedConv init(const Device& device) const;
};

/// Throws ShapeError, "ResNet: images must be [batch, 3, height, width], got float32 [2, 1, 28, 28]", if x has another
/// number of channels, or sizes below 1.
void require_images(std::string_view model, const Tensor<4>& x, std::int64_t channels);

/// Throws ArgumentError, "ResNetConfig: classes = 0 must lie between 1 and 1000000". Products of sizes within these
/// limits do not overflow.
void require_size(std::string_view config, std::string_view field, std::int64_t value);

}  // namespace kiln::models
