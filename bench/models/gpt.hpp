// A GPT: blocks of causal attention and a two-layer perceptron between an embedding and a linear head.
#pragma once
#include <kiln/kiln.hpp>

namespace kiln::models {

struct GptBlock {
  nn::LayerNorm norm1, norm2;
  nn::Linear qkv, output;  // width -> 3 width, width -> width
  nn::Linear up, down;     // width -> 4 width -> width
  std::int64_t heads;

  /// x [batch, time, width] -> [batch, time, width]
  Tensor<3> forward(const Tensor<3>& x) const;
};

struct Gpt {
  nn::Embedding tokens, positions;
  std::vector<GptBlock> blocks;
  nn::LayerNorm norm;
  nn::Linear head;

  /// tokens [batch, time] -> logits [batch, time, vocabulary]
  Tensor<3> forward(const Tensor<2, Int>& batch) const;
};

struct GptConfig {
  std::int64_t vocabulary = 8192, context = 128, width = 256, heads = 8, layers = 4;

  Gpt init(const Device& device) const;
};

}  // namespace kiln::models
