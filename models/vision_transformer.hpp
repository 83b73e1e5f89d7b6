// ViT (Dosovitskiy et al., "An image is worth 16x16 words", 2021): an image cut into patches, which a transformer's
// encoder reads as a sequence, behind a learned token whose place in the result says the class.
#pragma once
#include "kiln/nn/spatial/conv.hpp"
#include "kiln/nn/transformer/transformer.hpp"

namespace kiln::models {

struct VisionTransformer {
  nn::Param<3> token;      // [1, 1, width]
  nn::Conv2d patches;      // each of them becomes a vector
  nn::Param<3> positions;  // [1, 1 + patches, width]
  nn::Dropout dropout;
  nn::TransformerEncoder encoder;
  nn::Linear head;
  std::int64_t image = 224;  // height and width

  /// images [batch, channels, image, image] -> logits [batch, classes]. Throws ShapeError.
  Tensor<2> forward(const Tensor<4>& images) const;
};

/// ViT-B/16 unless told otherwise.
struct VisionTransformerConfig {
  std::int64_t image = 224;  // height and width
  std::int64_t patch = 16;
  std::int64_t channels = 3;  // of the images
  std::int64_t width = 768, layers = 12, heads = 12, hidden = 3072;
  std::int64_t classes = 1000;
  double dropout = 0;

  /// Throws ArgumentError for a size below 1, an image that is not cut into whole patches, or heads that do not divide
  /// the width.
  VisionTransformer init(const Device& device) const;
};

}  // namespace kiln::models
