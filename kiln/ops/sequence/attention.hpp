// Attention over [batch, heads, time, width], and masks for it.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

struct AttentionOptions {
  bool causal = false;                      // a query sees keys only up to its own position
  std::optional<double> scale = {};         // factor of q k^T; 1 / sqrt(width) where absent
  double softcap = 0;                       // bounds scores smoothly: softcap * tanh(score / softcap); 0: no bound
  std::optional<std::int64_t> window = {};  // a query sees only keys at a distance less than this
  double dropout = 0;                       // the probability that a weight is dropped; above 0 all scores are stored
  std::optional<Key> key = {};              // for dropout; the device's stream where absent
  bool quiet = false;                       // quiet_softmax(): the weights of a query may sum to less than 1
};

/// softmax(scale q k^T + bias) v: q [batch, heads, queries, width], k [batch, kv_heads, keys, width],
/// v [batch, kv_heads, keys, value_width] -> [batch, heads, queries, value_width]. kv_heads divides heads: each head of k
/// and v serves the same number of neighbouring heads of q. mask (boolean, true where a query may see a key) and bias,
/// which is added after the softcap, broadcast to [batch, heads, queries, keys]; either may be empty.
///
/// The last query has the position of the last key, so that a few queries may look back on a cache of keys. A query
/// that sees no key gives zeros. Keys that are hidden from a query, by mask, causal, window or a bias of -inf, affect
/// neither its result nor a gradient, whatever they hold, NaN and infinity included. On the CPU the time x time scores
/// are never stored, in either direction, for any element type and any strides (Dao et al., "FlashAttention", 2022),
/// except in a gradient that is itself differentiable.
Value attention(const Value& q, const Value& k, const Value& v, const AttentionOptions& options = {},
                const Value& mask = {}, const Value& bias = {});

/// sizes [queries, keys] -> true where a query may see a key under AttentionOptions' causal and window (0: no window).
Value window_mask(const Shape& sizes, std::int64_t window, bool causal, const Device& device);
/// sizes [queries, keys] -> true where the key is not later than the query; the last query has the position of the last
/// key.
Value causal_mask(const Shape& sizes, const Device& device);
/// lengths [batch] -> [batch, 1, 1, keys], true for the first lengths[i] keys: a mask for attention().
Value padding_mask(const Value& lengths, std::int64_t keys);

}  // namespace kiln
