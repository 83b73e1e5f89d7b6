// ViT (Dosovitskiy et al., "An image is worth 16x16 words", 2021): a transformer encoder reads the patches of an image
// as a sequence, after a learned token whose output is classified.
#pragma once
#include "kiln/nn/spatial/conv.hpp"
#include "kiln/nn/transformer/transformer.hpp"

namespace kiln::models {

struct VisionTransformer {
  nn::Param<3> token;      // [1, 1, width]
  nn::Conv2d patches;      // makes a vector of each patch
  nn::Param<3> positions;  // [1, 1 + patches, width]
  nn::Dropout dropout;
  nn::TransformerEncoder encoder;
  nn::Linear head;
  std::int64_t image = 224;  // height and width

  /// images [batch, channels, image, image] -> logits [batch, classes]. Throws ShapeError.
  Tensor<2> forward(const Tensor<4>& images) const;
};

/// The defaults are ViT-B/16.
struct VisionTransformerConfig {
  std::int64_t image = 224;  // height and width
  std::int64_t patch = 16;
  std::int64_t channels = 3;  // channels of the images
  std::int64_t width = 768, layers = 12, heads = 12, hidden = 3072;
  std::int64_t classes = 1000;
  double dropout = 0;

  /// Throws ArgumentError for a size below 1, an image that is not divisible into whole patches, or heads that do not
  /// divide the width.
  VisionTransformer init(const Device& device) const;
};

}  // namespace kiln::models
