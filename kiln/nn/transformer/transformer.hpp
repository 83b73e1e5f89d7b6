// Encoders and decoders of sequences (Vaswani et al., "Attention is all you need", 2017), for whole sequences or token
// by token with a cache. A decoder-only model such as GPT is an encoder whose attention is causal.
#pragma once
#include <vector>

#include "kiln/nn/attention/attention.hpp"
#include "kiln/nn/norm/norm.hpp"
#include "kiln/nn/transformer/feed_forward.hpp"

namespace kiln::nn {

/// The options of a decoder's call: for its own sequence, and for the context.
struct DecoderOptions {
  AttentionOptions self = {.causal = true};
  AttentionOptions cross = {};
};

/// Attention, then a feed-forward network; each is a residual branch, normalised after the sum, or before the branch
/// (`norm_first`; Xiong et al., "On layer normalization in the transformer architecture", 2020).
struct TransformerEncoderLayer {
  MultiHeadAttention attention;
  PositionWiseFeedForward feed_forward;
  SequenceNorm attention_norm, feed_forward_norm;
  Dropout dropout = {.probability = 0};  // applied to a branch's output
  bool norm_first = false;

  /// x [batch, time, width] -> [batch, time, width]
  Tensor<3> forward(const Tensor<3>& x, const AttentionOptions& options = {}) const;
  /// x follows the cache's contents.
  Tensor<3> forward(const Tensor<3>& x, KvCache& cache, const AttentionOptions& options = {.causal = true}) const;
};

/// An encoder layer with attention to a context between the two branches.
struct TransformerDecoderLayer {
  MultiHeadAttention attention, cross_attention;
  PositionWiseFeedForward feed_forward;
  SequenceNorm attention_norm, cross_attention_norm, feed_forward_norm;
  Dropout dropout = {.probability = 0};
  bool norm_first = false;

  /// x [batch, time, width], context [batch, other time, context width] -> [batch, time, width]
  Tensor<3> forward(const Tensor<3>& x, const Tensor<3>& context, const DecoderOptions& options = {}) const;
  /// x follows the cache's contents; `memory` is cross_attention.remember(context).
  Tensor<3> forward(const Tensor<3>& x, KvCache& cache, const KvCache& memory,
                    const DecoderOptions& options = {}) const;
};

struct TransformerEncoder {
  std::vector<TransformerEncoderLayer> blocks;
  std::optional<SequenceNorm> norm = {};  // applied to the result

  /// x [batch, time, width] -> [batch, time, width]
  Tensor<3> forward(const Tensor<3>& x, const AttentionOptions& options = {}) const;
  /// cache() is empty; forward() with it takes x [batch, time, width] that follows its contents: token by token this
  /// gives the same as the whole sequence with a causal mask.
  TransformerCache cache(std::int64_t batch, std::int64_t capacity) const;
  Tensor<3> forward(const Tensor<3>& x, TransformerCache& cache,
                    const AttentionOptions& options = {.causal = true}) const;
};

struct TransformerDecoder {
  std::vector<TransformerDecoderLayer> blocks;
  std::optional<SequenceNorm> norm = {};

  /// x [batch, time, width], context [batch, other time, context width] -> [batch, time, width]
  Tensor<3> forward(const Tensor<3>& x, const Tensor<3>& context, const DecoderOptions& options = {}) const;
  /// cache() has only seen the context; forward() with it takes x that follows its contents.
  TransformerCache cache(const Tensor<3>& context, std::int64_t capacity) const;
  Tensor<3> forward(const Tensor<3>& x, TransformerCache& cache, const DecoderOptions& options = {}) const;
};

/// The config of either layer; its defaults are PyTorch's, except for the activation.
template <class Layer>
struct TransformerLayerConfig {
  std::int64_t width;
  std::int64_t heads = 1;
  std::int64_t hidden = 0;  // width of the feed-forward network; 0: 4 * width
  double dropout = 0.1;     // dropout of attention weights, of hidden activations and of the branches' outputs
  bool norm_first = false;
  SequenceNorm::Config norm = LayerNormConfig{};  // its size is the width
  ActivationConfig activation = Gelu{};
  bool gated = false;  // whether the feed-forward network is gated
  bool bias = true;
  std::int64_t kv_heads = 0, head_width = 0, context_width = 0;  // see MultiHeadAttentionConfig
  bool quiet = false, alibi = false;
  double softcap = 0;
  std::optional<std::int64_t> window = {};
  std::optional<RotaryEncodingConfig> rotary = {};  // for self-attention, like alibi and window
  Initializer initializer = init::XavierUniform{};

  /// Throws ArgumentError for numbers that do not fit together.
  Layer init(const Device& device) const;
};
using TransformerEncoderLayerConfig = TransformerLayerConfig<TransformerEncoderLayer>;
using TransformerDecoderLayerConfig = TransformerLayerConfig<TransformerDecoderLayer>;

/// Layers of one kind, and a final normalisation if they are norm_first.
template <class Stack, class Layer>
struct TransformerStackConfig {
  TransformerLayerConfig<Layer> layer;
  std::int64_t layers = 6;
  Stack init(const Device& device) const;
};
using TransformerEncoderConfig = TransformerStackConfig<TransformerEncoder, TransformerEncoderLayer>;
using TransformerDecoderConfig = TransformerStackConfig<TransformerDecoder, TransformerDecoderLayer>;

// Compiled in transformer.cpp.
extern template void each_part<MultiHeadAttention>(void*, PartType::Visit);
extern template void each_part<PositionWiseFeedForward>(void*, PartType::Visit);
extern template void each_part<TransformerDecoder>(void*, PartType::Visit);
extern template void each_part<TransformerEncoder>(void*, PartType::Visit);

}  // namespace kiln::nn
