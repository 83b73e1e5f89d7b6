#include "kiln/nn/transformer/transformer.hpp"

namespace kiln::nn {
namespace {

/// Adds a branch to x, with the normalisation before or after it.
template <class Layer, class Branch>
Tensor<3> beside(const Layer& layer, const Tensor<3>& x, const SequenceNorm& norm, const Branch& branch) {
  const auto add = [&](const Tensor<3>& y) { return Tensor<3>(x.value() + layer.dropout.apply(branch(y).value())); };
  return layer.norm_first ? add(norm.forward(x)) : norm.forward(add(x));
}

template <class Layer>
Tensor<3> fed_forward(const Layer& layer, const Tensor<3>& x) {
  return beside(layer, x, layer.feed_forward_norm, [&](const Tensor<3>& y) { return layer.feed_forward.forward(y); });
}

Tensor<3> normed(const std::optional<SequenceNorm>& norm, const Tensor<3>& x) { return norm ? norm->forward(x) : x; }

template <class Stack>
void require_cache(const Stack& stack, const std::vector<KvCache>& caches) {
  require<ArgumentError>(caches.size() == stack.blocks.size(), "a transformer of ", stack.blocks.size(),
                         " layers was given a cache of ", caches.size(), ": create it with cache()");
}

template <class Stack>
std::vector<KvCache> empty_caches(const Stack& stack, std::int64_t batch, std::int64_t capacity) {
  std::vector<KvCache> caches;
  for (const auto& block : stack.blocks) caches.push_back(block.attention.cache(batch, capacity));
  return caches;
}

}  // namespace

Tensor<3> TransformerEncoderLayer::forward(const Tensor<3>& x, const AttentionOptions& options) const {
  KvCache none;
  return forward(x, none, options);
}
Tensor<3> TransformerEncoderLayer::forward(const Tensor<3>& given, KvCache& cache,
                                           const AttentionOptions& options) const {
  const Tensor<3> x = without_padding(given, options.padding);
  return fed_forward(*this, beside(*this, x, attention_norm,
                                   [&](const Tensor<3>& y) { return attention.forward(y, cache, options); }));
}

Tensor<3> TransformerDecoderLayer::forward(const Tensor<3>& x, const Tensor<3>& context,
                                           const DecoderOptions& options) const {
  KvCache none;
  return forward(x, none, cross_attention.project_context(without_padding(context, options.cross.padding)), options);
}
Tensor<3> TransformerDecoderLayer::forward(const Tensor<3>& given, KvCache& cache, const KvCache& memory,
                                           const DecoderOptions& options) const {
  const Tensor<3> x = without_padding(given, options.self.padding);
  const Tensor<3> own =
      beside(*this, x, attention_norm, [&](const Tensor<3>& y) { return attention.forward(y, cache, options.self); });
  return fed_forward(*this, beside(*this, own, cross_attention_norm, [&](const Tensor<3>& y) {
    return cross_attention.cross_attend(y, memory, options.cross);
  }));
}

Tensor<3> TransformerEncoder::forward(const Tensor<3>& x, const AttentionOptions& options) const {
  Tensor<3> y = x;
  for (const TransformerEncoderLayer& block : blocks) y = block.forward(y, options);
  return normed(norm, y);
}
TransformerCache TransformerEncoder::cache(std::int64_t batch, std::int64_t capacity) const {
  return {.attention = empty_caches(*this, batch, capacity), .context = {}};
}
Tensor<3> TransformerEncoder::forward(const Tensor<3>& x, TransformerCache& cache,
                                      const AttentionOptions& options) const {
  require_cache(*this, cache.attention);
  Tensor<3> y = x;
  for (std::size_t i = 0; i < blocks.size(); ++i) y = blocks[i].forward(y, cache.attention[i], options);
  return normed(norm, y);
}

Tensor<3> TransformerDecoder::forward(const Tensor<3>& x, const Tensor<3>& context,
                                      const DecoderOptions& options) const {
  Tensor<3> y = x;
  for (const TransformerDecoderLayer& block : blocks) y = block.forward(y, context, options);
  return normed(norm, y);
}
TransformerCache TransformerDecoder::cache(const Tensor<3>& context, std::int64_t capacity) const {
  TransformerCache result{.attention = empty_caches(*this, context.dim(0), capacity), .context = {}};
  for (const TransformerDecoderLayer& block : blocks)
    result.context.push_back(block.cross_attention.project_context(context));
  return result;
}
Tensor<3> TransformerDecoder::forward(const Tensor<3>& x, TransformerCache& cache,
                                      const DecoderOptions& options) const {
  require_cache(*this, cache.attention);
  require_cache(*this, cache.context);
  Tensor<3> y = x;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    y = blocks[i].forward(y, cache.attention[i], cache.context[i], options);
  return normed(norm, y);
}

template <class Layer>
Layer TransformerLayerConfig<Layer>::init(const Device& device) const {
  MultiHeadAttentionConfig self{.width = width, .heads = heads};
  self.dropout = dropout;
  self.bias = bias;
  self.initializer = initializer;
  self.kv_heads = kv_heads;
  self.head_width = head_width;
  self.quiet = quiet;
  self.softcap = softcap;
  MultiHeadAttentionConfig cross = self;
  cross.context_width = context_width;
  self.alibi = alibi;
  self.window = window;
  self.rotary = rotary;
  PositionWiseFeedForwardConfig feed_forward{.width = width, .hidden = hidden};
  feed_forward.activation = activation;
  feed_forward.gated = gated;
  feed_forward.dropout = dropout;
  feed_forward.bias = bias;
  feed_forward.initializer = initializer;
  const auto fresh_norm = [&] { return SequenceNorm::from(with_features(norm, width), device); };

  Layer layer;
  layer.attention = self.init(device);
  layer.attention_norm = fresh_norm();
  if constexpr (requires { layer.cross_attention; }) {
    layer.cross_attention = cross.init(device);
    layer.cross_attention_norm = fresh_norm();
  }
  layer.feed_forward = feed_forward.init(device);
  layer.feed_forward_norm = fresh_norm();
  layer.dropout.probability = dropout;
  layer.norm_first = norm_first;
  return layer;
}

template <class Stack, class Layer>
Stack TransformerStackConfig<Stack, Layer>::init(const Device& device) const {
  require<ArgumentError>(layers > 0, "TransformerConfig: layers = ", layers, " must be positive");
  Stack stack;
  for (std::int64_t i = 0; i < layers; ++i) stack.blocks.push_back(layer.init(device));
  if (layer.norm_first) stack.norm = SequenceNorm::from(with_features(layer.norm, layer.width), device);
  return stack;
}

template struct TransformerLayerConfig<TransformerEncoderLayer>;
template struct TransformerLayerConfig<TransformerDecoderLayer>;
template struct TransformerStackConfig<TransformerEncoder, TransformerEncoderLayer>;
template struct TransformerStackConfig<TransformerDecoder, TransformerDecoderLayer>;

template void each_part<MultiHeadAttention>(void*, PartType::Visit);
template void each_part<PositionWiseFeedForward>(void*, PartType::Visit);
template void each_part<TransformerDecoder>(void*, PartType::Visit);
template void each_part<TransformerEncoder>(void*, PartType::Visit);

}  // namespace kiln::nn
