// Encoders and decoders of sequences (Vaswani et al., "Attention is all you need", 2017), whole or token by token with a
// cache. A decoder-only model, as GPT is, is an encoder whose attention is causal.
#pragma once
#include <vector>

#include "kiln/nn/attention/attention.hpp"
#include "kiln/nn/norm/norm.hpp"
#include "kiln/nn/transformer/feed_forward.hpp"

namespace kiln::nn {

/// What a decoder's calls say: of its own sequence, and of the context.
struct DecoderOptions {
  AttentionOptions self = {.causal = true};
  AttentionOptions cross = {};
};

/// Attention, then a feed-forward network; each is a branch beside which x goes on, normalised after the sum, or before the
/// branch (`norm_first`; Xiong et al., "On layer normalization in the transformer architecture", 2020).
struct TransformerEncoderLayer {
  MultiHeadAttention attention;
  PositionWiseFeedForward feed_forward;
  SequenceNorm attention_norm, feed_forward_norm;
  Dropout dropout = {.probability = 0};  // of what a branch adds
  bool norm_first = false;

  /// x [batch, time, width] -> the same
  Tensor<3> forward(const Tensor<3>& x, const AttentionOptions& options = {}) const;
  /// x follows what the cache holds.
  Tensor<3> forward(const Tensor<3>& x, KvCache& cache, const AttentionOptions& options = {.causal = true}) const;
};

/// The same with attention to a context between both.
struct TransformerDecoderLayer {
  MultiHeadAttention attention, cross_attention;
  PositionWiseFeedForward feed_forward;
  SequenceNorm attention_norm, cross_attention_norm, feed_forward_norm;
  Dropout dropout = {.probability = 0};
  bool norm_first = false;

  /// x [batch, time, width], context [batch, other time, context width] -> [batch, time, width]
  Tensor<3> forward(const Tensor<3>& x, const Tensor<3>& context, const DecoderOptions& options = {}) const;
  /// x follows what the cache holds; `memory` is cross_attention.remember(context).
  Tensor<3> forward(const Tensor<3>& x, KvCache& cache, const KvCache& memory,
                    const DecoderOptions& options = {}) const;
};

struct TransformerEncoder {
  std::vector<TransformerEncoderLayer> blocks;
  std::optional<SequenceNorm> norm = {};  // of the result

  /// x [batch, time, width] -> the same
  Tensor<3> forward(const Tensor<3>& x, const AttentionOptions& options = {}) const;
  /// An empty cache, and x [batch, time, width] that follows what one holds: token by token the same as the whole
  /// sequence under a causal mask.
  TransformerCache cache(std::int64_t batch, std::int64_t capacity) const;
  Tensor<3> forward(const Tensor<3>& x, TransformerCache& cache,
                    const AttentionOptions& options = {.causal = true}) const;
};

struct TransformerDecoder {
  std::vector<TransformerDecoderLayer> blocks;
  std::optional<SequenceNorm> norm = {};

  /// x [batch, time, width], context [batch, other time, context width] -> [batch, time, width]
  Tensor<3> forward(const Tensor<3>& x, const Tensor<3>& context, const DecoderOptions& options = {}) const;
  /// A cache that has seen the context alone, and x that follows what one holds.
  TransformerCache cache(const Tensor<3>& context, std::int64_t capacity) const;
  Tensor<3> forward(const Tensor<3>& x, TransformerCache& cache, const DecoderOptions& options = {}) const;
};

/// Of the layers of either; what is left out is as PyTorch has it, but for the activation.
template <class Layer>
struct TransformerLayerConfig {
  std::int64_t width;
  std::int64_t heads = 1;
  std::int64_t hidden = 0;  // of the feed-forward network; 0: 4 * width
  double dropout = 0.1;     // of attention's weights, of hidden activations and of what branches add
  bool norm_first = false;
  SequenceNorm::Config norm = LayerNormConfig{};  // whose size is the width
  ActivationConfig activation = Gelu{};
  bool gated = false;  // of the feed-forward network
  bool bias = true;
  std::int64_t kv_heads = 0, head_width = 0, context_width = 0;  // as MultiHeadAttentionConfig's
  bool quiet = false, alibi = false;
  double softcap = 0;
  std::optional<std::int64_t> window = {};
  std::optional<RotaryEncodingConfig> rotary = {};  // of self-attention, as are alibi and window
  Initializer initializer = init::XavierUniform{};

  /// Throws ArgumentError for numbers that do not go together.
  Layer init(const Device& device) const;
};
using TransformerEncoderLayerConfig = TransformerLayerConfig<TransformerEncoderLayer>;
using TransformerDecoderLayerConfig = TransformerLayerConfig<TransformerDecoderLayer>;

/// Layers of one kind, and a last normalisation where they are norm_first.
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
