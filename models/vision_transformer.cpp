#include "models/vision_transformer.hpp"

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/assemble.hpp"
#include "models/images.hpp"

namespace kiln::models {

Tensor<2> VisionTransformer::forward(const Tensor<4>& images) const {
  require_images("VisionTransformer", images, patches.weight.dim(1));
  require<ShapeError>(images.dim(2) == image && images.dim(3) == image, "VisionTransformer: images must be ", image,
                      " x ", image, ", got ", images);
  const Tensor<3> words = patches.forward(images).flatten<2>().transpose();  // [batch, patches, width]
  const Tensor<3> sequence = cat({token.expand(images.dim(0), 1, words.dim(2)), words}, 1);
  return head.forward(encoder.forward(dropout.forward(sequence + positions)).at(1, 0));
}

VisionTransformer VisionTransformerConfig::init(const Device& device) const {
  const auto size = [](std::string_view field, std::int64_t value) {
    require_size("VisionTransformerConfig", field, value);
  };
  size("image", image);
  size("patch", patch);
  size("channels", channels);
  size("width", width);
  size("classes", classes);
  require<ArgumentError>(image % patch == 0, "VisionTransformerConfig: an image of ", image, " x ", image,
                         " cannot be divided into patches of ", patch, " x ", patch);
  const std::int64_t count = (image / patch) * (image / patch);
  const auto fresh = [&](const nn::Initializer& initializer, const Shape& shape) {
    return nn::Param<3>(nn::initialize(initializer, shape, {}, device));
  };
  const nn::TransformerEncoderConfig encoder{.layer = {.width = width,
                                                       .heads = heads,
                                                       .hidden = hidden,
                                                       .dropout = dropout,
                                                       .norm_first = true,
                                                       .norm = nn::LayerNormConfig{.epsilon = 1e-6}},
                                             .layers = layers};
  return {.token = fresh(nn::init::Zeros{}, {1, 1, width}),
          .patches = nn::Conv2dConfig{.in = channels, .out = width, .kernel = {patch}, .stride = {patch}}.init(device),
          .positions = fresh(nn::init::Normal{.deviation = 0.02}, {1, 1 + count, width}),
          .dropout = {.probability = dropout},
          .encoder = encoder.init(device),
          .head = nn::LinearConfig{.in = width, .out = classes}.init(device),
          .image = image};
}

}  // namespace kiln::models
