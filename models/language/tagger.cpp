#include "models/language/tagger.hpp"

#include "kiln/ops/loss/loss.hpp"

namespace kiln::models {

Tensor<3> Tagger::forward(const Tensor<2, Int>& ids, const Tensor<1, Int>& lengths) const {
  const Tensor<3> x = dropout.forward(words.forward(ids));
  return head.forward(dropout.forward(lstm.forward(x, {}, lengths).outputs));
}

Tensor<0> Tagger::loss(const Tensor<2, Int>& ids, const Tensor<1, Int>& lengths, const Tensor<2, Int>& tags) const {
  const Value logits = forward(ids, lengths).value();
  return Typed{cross_entropy(flatten(logits, 0, 1), flatten(tags.value(), 0, 1), {.ignore = -1}, Reduction::Mean)};
}

Tagger TaggerConfig::init(const Device& device) const {
  return {.words = nn::EmbeddingConfig{.count = vocabulary, .size = width}.init(device),
          .dropout = {.probability = dropout},
          .lstm = nn::LstmConfig{.in = width, .hidden = hidden, .layers = layers, .bidirectional = true}.init(device),
          .head = nn::LinearConfig{.in = 2 * hidden, .out = tags}.init(device)};
}

}  // namespace kiln::models
