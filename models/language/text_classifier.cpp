#include "models/language/text_classifier.hpp"

namespace kiln::models {

Tensor<2> TextClassifier::forward(const Tensor<2, Int>& ids) const {
  const std::int64_t context = positions.weight.dim(0);
  require<ArgumentError>(ids.dim(1) > 0 && ids.dim(1) <= context, "TextClassifier: ", ids.dim(1),
                         " words do not fit the model's context of ", context);
  const Tensor<2, Bool> there = ids.ne(padding);
  const Tensor<3> x = dropout.forward(positions.forward(words.forward(ids)));
  const Tensor<3> encoded = encoder.forward(x, {.padding = there});
  const Tensor<2> counted = there.to_float();
  const Tensor<2> sum = (encoded * counted.unsqueeze(2)).sum(1);
  return head.forward(dropout.forward(sum / counted.sum(keep, 1).clamp(1, context)));
}

TextClassifier TextClassifierConfig::init(const Device& device) const {
  nn::TransformerEncoderLayerConfig block{.width = width, .heads = heads};
  block.dropout = dropout;
  block.norm_first = true;
  return {.words = nn::EmbeddingConfig{.count = vocabulary, .size = width, .padding_index = padding}.init(device),
          .positions = nn::LearnedPositionsConfig{.length = context, .width = width}.init(device),
          .dropout = {.probability = dropout},
          .encoder = nn::TransformerEncoderConfig{.layer = block, .layers = layers}.init(device),
          .head = nn::LinearConfig{.in = width, .out = classes}.init(device),
          .padding = padding};
}

}  // namespace kiln::models
