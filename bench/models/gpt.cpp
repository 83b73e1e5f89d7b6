#include "bench/models/gpt.hpp"

namespace kiln::models {

Tensor<3> GptBlock::forward(const Tensor<3>& x) const {
  const auto [batch, time, width] = x.dims();
  const auto parts = qkv.forward(norm1.forward(x)).reshape(batch, time, 3, heads, width / heads).permute(2, 0, 3, 1, 4);
  const Tensor<4> mixed = attention(parts(0), parts(1), parts(2), {.causal = true});
  const Tensor<3> attended = x + output.forward(mixed.permute(0, 2, 1, 3).reshape(batch, time, width));
  return attended + down.forward(up.forward(norm2.forward(attended)).gelu());
}

Tensor<3> Gpt::forward(const Tensor<2, Int>& batch) const {
  Tensor<3> x = tokens.forward(batch) + positions.forward(arange(batch.dim(1), batch.device()));
  for (const GptBlock& block : blocks) x = block.forward(x);
  return head.forward(norm.forward(x));
}

Gpt GptConfig::init(const Device& device) const {
  Gpt gpt{.tokens = nn::EmbeddingConfig{.count = vocabulary, .size = width}.init(device),
          .positions = nn::EmbeddingConfig{.count = context, .size = width}.init(device),
          .blocks = {},
          .norm = nn::LayerNormConfig{.size = width}.init(device),
          .head = nn::LinearConfig{.in = width, .out = vocabulary, .bias = false}.init(device)};
  for (std::int64_t layer = 0; layer < layers; ++layer)
    gpt.blocks.push_back({.norm1 = nn::LayerNormConfig{.size = width}.init(device),
                          .norm2 = nn::LayerNormConfig{.size = width}.init(device),
                          .qkv = nn::LinearConfig{.in = width, .out = 3 * width}.init(device),
                          .output = nn::LinearConfig{.in = width, .out = width}.init(device),
                          .up = nn::LinearConfig{.in = width, .out = 4 * width}.init(device),
                          .down = nn::LinearConfig{.in = 4 * width, .out = width}.init(device),
                          .heads = heads});
  return gpt;
}

}  // namespace kiln::models
