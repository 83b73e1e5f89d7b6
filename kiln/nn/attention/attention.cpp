#include "kiln/nn/attention/attention.hpp"

#include <cmath>

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

/// Combines two masks, either of which may be empty.
Value both(const Value& a, const Value& b) { return a && b ? logical_and(a, b) : a ? a : b; }
Value sum_of(const Value& a, const Value& b) { return a && b ? a + b : a ? a : b; }

Value mask_of(const AttentionOptions& options, std::int64_t batch, std::int64_t keys) {
  if (options.padding.empty()) return options.mask;
  require<ShapeError>(options.padding.shape() == Shape{batch, keys}, "MultiHeadAttention: padding ",
                      options.padding.shape(), " must be [batch, keys] = ", Shape{batch, keys},
                      ", keys of the cache among them");
  return both(reshape(options.padding.value(), {batch, 1, 1, keys}), options.mask);
}

/// Restricts options for all keys of a sequence of `length` to the last `count` keys.
AttentionOptions last_keys(AttentionOptions options, std::int64_t count, std::int64_t length) {
  if (count == length) return options;
  const auto last = [&](const Value& of) {
    if (of.empty() || of.rank() == 0 || of.dim(-1) == 1) return of;
    require<ShapeError>(of.dim(-1) == length, "MultiHeadAttention: the last dimension of padding, mask or bias ",
                        of.shape(), " must be the ", length, " keys, those of the cache among them");
    return narrow(of, -1, length - count, count);
  };
  if (!options.padding.empty()) options.padding = Tensor<2, Bool>(last(options.padding.value()));
  options.mask = last(options.mask);
  options.bias = last(options.bias);
  return options;
}

}  // namespace

Tensor<3> MultiHeadAttention::attend(const Value& q, const Value& k, const Value& v, const AttentionOptions& options,
                                     std::optional<std::int64_t> seen) const {
  const std::int64_t batch = q.dim(0), queries = q.dim(2), keys = k.dim(2);
  const Value distance = alibi ? alibi_bias({heads, queries, keys}, q.device()) : Value();
  const Value mixed = attention(q, k, v,
                                {.causal = options.causal,
                                 .scale = scale,
                                 .softcap = softcap,
                                 .window = seen,
                                 .dropout = dropout.mode == Mode::Train ? dropout.probability : 0,
                                 .quiet = quiet},
                                mask_of(options, batch, keys), sum_of(distance, options.bias));
  return output.forward(Tensor<3>(reshape(permute(mixed, {0, 2, 1, 3}), {batch, queries, heads * v.dim(3)})));
}

Tensor<3> MultiHeadAttention::forward(const Tensor<3>& x, const AttentionOptions& options) const {
  KvCache none;
  return forward(x, none, options);
}

Tensor<3> without_padding(const Tensor<3>& x, const Tensor<2, Bool>& padding) {
  const std::int64_t time = x.dim(1);
  if (padding.empty() || padding.dim(0) != x.dim(0) || padding.dim(1) < time) return x;
  const Value there = unsqueeze(narrow(padding.value(), 1, padding.dim(1) - time, time), 2);
  return Tensor<3>(where(logical_or(there, is_finite(x.value())), x.value(), 0.0));
}

Tensor<3> MultiHeadAttention::forward(const Tensor<3>& given, KvCache& cache, const AttentionOptions& options) const {
  const Tensor<3> x = without_padding(given, options.padding);
  const std::int64_t kv_heads = kv_heads_of(*this), start = cache.length(), time = x.dim(1), length = start + time;
  const auto rotated = [&](const Value& y, std::int64_t first) {
    if (!rotary) return y;
    return options.positions.empty() ? rotary->apply(y, first, length)
                                     : rotary->forward(Tensor<4>(y), options.positions).value();
  };
  const Value q = rotated(split_heads(query.forward(x), heads), start);
  const Value k = split_heads(key.forward(x), kv_heads), v = split_heads(value.forward(x), kv_heads);
  if (cache.keys.memory.empty()) return attend(q, rotated(k, start), v, options, window);
  require<ArgumentError>(!cache.keys.is_ring() || (window && *window <= cache.reach.value_or(0) + 1),
                         "MultiHeadAttention: the cache's ring holds ", cache.reach.value_or(0),
                         " time steps before the next, fewer than the module looks back on; create it with cache()");
  const bool rotate_on_read = rotary && rotary->growth;
  const Tensor<4> new_keys(rotate_on_read ? k : rotated(k, start)), new_values(v);
  const bool has_mask = alibi || !options.padding.empty() || options.mask || options.bias;
  if (time > 1 || has_mask || (rotate_on_read && cache.keys.is_ring())) {
    // The keys that the first new time step may see, and the new ones: with a window these are not all.
    const std::int64_t past = window ? std::min(start, *window - 1) : start;
    const auto with_past = [&](TensorCache<4>& of, const Tensor<4>& now) {
      if (!of.is_ring()) return of.add(now), of.last(past + time).value();
      const Value both = past ? cat(Values{of.last(past).value(), cast(now.value(), of.memory.dtype())}, 2)
                              : cast(now.value(), of.memory.dtype());
      return of.add(now), both;
    };
    const Value keys = with_past(cache.keys, new_keys), values = with_past(cache.values, new_values);
    return attend(q, rotate_on_read ? rotated(keys, start - past) : keys, values,
                  last_keys(options, past + time, length), window);
  }
  cache.keys.add(new_keys);
  cache.values.add(new_values);
  // A single time step sees all before it: a mask selects these, so that shapes are the same for most time steps.
  const auto lasting = [](const TensorCache<4>& of) { return (of.is_ring() ? of.memory : of.all_and_more()).value(); };
  const Value keys = lasting(cache.keys);
  const Device device = q.device().inner();
  const Value places = arange(0, keys.dim(2), 1, device), now = index_of(start % keys.dim(2), device);
  const std::int64_t seen = window ? std::min(length, *window) : length;
  // The age of each place, as if all memory were a ring: places never written are older than all others.
  const Value mask = window ? lt(remainder(now - places, keys.dim(2)), index_of(seen, device)) : le(places, now);
  return attend(q, rotate_on_read ? rotated(keys, 0) : keys, lasting(cache.values), {.mask = mask}, {});
}

Tensor<3> MultiHeadAttention::forward(const Tensor<3>& x, const Tensor<3>& context,
                                      const AttentionOptions& options) const {
  return cross_attend(x, project_context(without_padding(context, options.padding)), options);
}

KvCache MultiHeadAttention::cache(std::int64_t batch, std::int64_t capacity) const {
  const std::int64_t kv_heads = kv_heads_of(*this);
  require<ArgumentError>(batch > 0 && capacity > 0, "MultiHeadAttention: a cache for a batch of ", batch, " and ",
                         capacity, " time steps");
  const std::int64_t stride = TensorCache<4>::kStride;
  const bool ring = window && *window < capacity - stride;  // its spare places are for drafts, see truncate()
  const auto made = [&](const Param<2>& weight) {
    const Shape shape{batch, kv_heads, capacity, weight.dim(0) / kv_heads};
    const Device device = weight.device().inner();
    return ring ? TensorCache<4>::ring(shape, 2, *window + stride, device, weight.dtype())
                : TensorCache<4>::with_capacity(shape, 2, device, weight.dtype());
  };
  KvCache cache{made(key.weight), made(value.weight)};
  if (window) cache.reach = *window - 1;
  return cache;
}

KvCache MultiHeadAttention::project_context(const Tensor<3>& context) const {
  require<ArgumentError>(!rotary && !alibi, "MultiHeadAttention: positions of x and of a context have no distance, as ",
                         rotary ? "rotary encoding" : "ALiBi", " needs");
  const std::int64_t kv_heads = kv_heads_of(*this), time = context.dim(1);
  return {{Tensor<4>(split_heads(key.forward(context), kv_heads)), 2, time},
          {Tensor<4>(split_heads(value.forward(context), kv_heads)), 2, time}};
}

Tensor<3> MultiHeadAttention::cross_attend(const Tensor<3>& x, const KvCache& memory,
                                           const AttentionOptions& options) const {
  return attend(split_heads(query.forward(x), heads), memory.keys.all().value(), memory.values.all().value(), options,
                window);
}

MultiHeadAttention MultiHeadAttentionConfig::init(const Device& device) const {
  require<ArgumentError>(kv_heads >= 0 && head_width >= 0 && context_width >= 0,
                         "MultiHeadAttentionConfig: kv_heads = ", kv_heads, ", head_width = ", head_width,
                         " and context_width = ", context_width, " must not be negative");
  require<ArgumentError>(softcap >= 0 && std::isfinite(softcap), "MultiHeadAttentionConfig: softcap = ", softcap,
                         " must be finite and not negative");
  require<ArgumentError>(width > 0 && heads > 0 && (head_width > 0 || width % heads == 0),
                         "MultiHeadAttentionConfig: ", heads, " heads do not divide a width of ", width);
  const std::int64_t head = head_width ? head_width : width / heads, shared = kv_heads ? kv_heads : heads;
  require<ArgumentError>(shared > 0 && heads % shared == 0, "MultiHeadAttentionConfig: ", shared,
                         " heads of keys and values do not divide ", heads, " heads");
  require<ArgumentError>(!window || *window > 0, "MultiHeadAttentionConfig: the window must be positive, got ",
                         window.value_or(0));
  require<ArgumentError>(!scale || std::isfinite(*scale),
                         "MultiHeadAttentionConfig: the scale of scores must be finite");
  require<ArgumentError>(!alibi || !rotary, "MultiHeadAttentionConfig: ALiBi and rotary encoding exclude each other");
  const std::int64_t context_channels = context_width ? context_width : width;
  const auto projection = [&](std::int64_t in, std::int64_t out) {
    return LinearConfig{.in = in, .out = out, .bias = bias, .initializer = initializer}.init(device);
  };
  MultiHeadAttention module{.query = projection(width, heads * head),
                            .key = projection(context_channels, shared * head),
                            .value = projection(context_channels, shared * head),
                            .output = projection(heads * head, width),
                            .dropout = {.probability = dropout},
                            .heads = heads,
                            .quiet = quiet,
                            .alibi = alibi,
                            .softcap = softcap,
                            .window = window,
                            .scale = scale};
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
