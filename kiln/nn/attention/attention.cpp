#include "kiln/nn/attention/attention.hpp"

#include "kiln/ops/scope/scope.hpp"
#include "kiln/ops/sequence/attention.hpp"

namespace kiln::nn {
namespace {

/// [batch, time, heads * width] -> [batch, heads, time, width]
Value split_heads(const Tensor<3>& x, std::int64_t heads) {
  const auto [batch, time, width] = x.dims();
  return permute(reshape(x.value(), {batch, time, heads, width / heads}), {0, 2, 1, 3});
}

std::int64_t kv_heads_of(const MultiHeadAttention& module) {
  const std::int64_t head = module.query.weight.dim(0) / module.heads, width = module.key.weight.dim(0);
  require_of<ShapeError>({&module.key.weight.value()}, head > 0 && width % head == 0, "MultiHeadAttention: keys of ",
                         width, " are not whole heads of ", head);
  return width / head;
}

/// What both say, as one mask; either may be empty.
Value both(const Value& a, const Value& b) { return a && b ? logical_and(a, b) : a ? a : b; }
Value sum_of(const Value& a, const Value& b) { return a && b ? a + b : a ? a : b; }

Value mask_of(const AttentionOptions& options, std::int64_t batch, std::int64_t keys) {
  if (options.padding.empty()) return options.mask;
  require<ShapeError>(options.padding.shape() == Shape{batch, keys}, "MultiHeadAttention: padding ",
                      options.padding.shape(), " must be [batch, keys] = ", Shape{batch, keys},
                      ", keys of the cache among them");
  return both(reshape(options.padding.value(), {batch, 1, 1, keys}), options.mask);
}

}  // namespace

Tensor<3> MultiHeadAttention::attend(const Value& q, const Value& k, const Value& v,
                                     const AttentionOptions& options) const {
  const std::int64_t batch = q.dim(0), queries = q.dim(2), keys = k.dim(2);
  const Value distance = alibi ? alibi_bias({heads, queries, keys}, q.device()) : Value();
  const Value mixed = attention(q, k, v,
                                {.causal = options.causal,
                                 .softcap = softcap,
                                 .window = window,
                                 .dropout = dropout.mode == Mode::Train ? dropout.probability : 0,
                                 .quiet = quiet},
                                mask_of(options, batch, keys), sum_of(distance, options.bias));
  return output.forward(Tensor<3>(reshape(permute(mixed, {0, 2, 1, 3}), {batch, queries, heads * v.dim(3)})));
}

Tensor<3> MultiHeadAttention::forward(const Tensor<3>& x, const AttentionOptions& options) const {
  KvCache none;
  return forward(x, none, options);
}

Tensor<3> MultiHeadAttention::forward(const Tensor<3>& x, KvCache& cache, const AttentionOptions& options) const {
  const std::int64_t kv_heads = kv_heads_of(*this), start = cache.length();
  const auto turned = [&](const Value& y) {
    if (!rotary) return y;
    return options.positions.empty() ? rotary->apply(y, start)
                                     : rotary->forward(Tensor<4>(y), options.positions).value();
  };
  const Value q = turned(split_heads(query.forward(x), heads));
  const Value k = turned(split_heads(key.forward(x), kv_heads)), v = split_heads(value.forward(x), kv_heads);
  if (cache.keys.memory.empty()) return attend(q, k, v, options);
  cache.keys.add(Tensor<4>(k));
  cache.values.add(Tensor<4>(v));
  if (k.dim(2) > 1 || alibi || window || !options.padding.empty() || options.mask || options.bias)
    return attend(q, cache.keys.all().value(), cache.values.all().value(), options);
  // One moment sees all before it, wherever it stands: a mask says how many these are, and shapes are those of others.
  const Value keys = cache.keys.all_and_more().value(), values = cache.values.all_and_more().value();
  const Value places = arange(0, keys.dim(2), 1, q.device().inner());
  return attend(q, keys, values, {.mask = le(places, index_of(start, q.device()))});
}

Tensor<3> MultiHeadAttention::forward(const Tensor<3>& x, const Tensor<3>& context,
                                      const AttentionOptions& options) const {
  return recall(x, remember(context), options);
}

KvCache MultiHeadAttention::cache(std::int64_t batch, std::int64_t capacity) const {
  const std::int64_t kv_heads = kv_heads_of(*this);
  const auto made = [&](const Param<2>& weight) {
    require<ArgumentError>(batch > 0 && capacity > 0, "MultiHeadAttention: a cache for a batch of ", batch, " and ",
                           capacity, " moments");
    return TensorCache<4>::with_capacity({batch, kv_heads, capacity, weight.dim(0) / kv_heads}, 2,
                                         weight.device().inner(), weight.dtype());
  };
  return {made(key.weight), made(value.weight)};
}

KvCache MultiHeadAttention::remember(const Tensor<3>& context) const {
  require<ArgumentError>(!rotary && !alibi, "MultiHeadAttention: positions of x and of a context have no distance, as ",
                         rotary ? "rotary encoding" : "ALiBi", " needs");
  const std::int64_t kv_heads = kv_heads_of(*this), time = context.dim(1);
  return {{Tensor<4>(split_heads(key.forward(context), kv_heads)), 2, time},
          {Tensor<4>(split_heads(value.forward(context), kv_heads)), 2, time}};
}

Tensor<3> MultiHeadAttention::recall(const Tensor<3>& x, const KvCache& memory, const AttentionOptions& options) const {
  return attend(split_heads(query.forward(x), heads), memory.keys.all().value(), memory.values.all().value(), options);
}

MultiHeadAttention MultiHeadAttentionConfig::init(const Device& device) const {
  require<ArgumentError>(width > 0 && heads > 0 && (head_width > 0 || width % heads == 0),
                         "MultiHeadAttentionConfig: ", heads, " heads do not divide a width of ", width);
  const std::int64_t head = head_width ? head_width : width / heads, shared = kv_heads ? kv_heads : heads;
  require<ArgumentError>(shared > 0 && heads % shared == 0, "MultiHeadAttentionConfig: ", shared,
                         " heads of keys and values do not divide ", heads, " heads");
  require<ArgumentError>(!window || *window > 0, "MultiHeadAttentionConfig: the window must be positive, got ",
                         window.value_or(0));
  require<ArgumentError>(!alibi || !rotary, "MultiHeadAttentionConfig: ALiBi and rotary encoding exclude each other");
  const std::int64_t asked = context_width ? context_width : width;
  const auto projection = [&](std::int64_t in, std::int64_t out) {
    return LinearConfig{.in = in, .out = out, .bias = bias, .initializer = initializer}.init(device);
  };
  MultiHeadAttention module{.query = projection(width, heads * head),
                            .key = projection(asked, shared * head),
                            .value = projection(asked, shared * head),
                            .output = projection(heads * head, width),
                            .dropout = {.probability = dropout},
                            .heads = heads,
                            .quiet = quiet,
                            .alibi = alibi,
                            .softcap = softcap,
                            .window = window};
  if (rotary) {
    RotaryEncodingConfig config = *rotary;
    if (config.width == 0) config.width = head;
    require<ArgumentError>(config.width <= head, "MultiHeadAttentionConfig: rotary encoding of ", config.width,
                           " elements does not fit into heads of ", head);
    module.rotary = config.init(device);
  }
  return module;
}

}  // namespace kiln::nn
