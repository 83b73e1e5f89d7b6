// Attention over [batch, heads, time, width], and the masks that go with it.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

struct AttentionOptions {
  bool causal = false;                      // a query sees keys up to its own position alone
  std::optional<double> scale = {};         // of q k^T; 1 / sqrt(width) where left out
  double softcap = 0;                       // bounds scores smoothly: softcap * tanh(score / softcap); 0: no bound
  std::optional<std::int64_t> window = {};  // a query sees keys less than this far from its own position alone
  double dropout = 0;                       // the probability with which a share is dropped; then all scores are held
  std::optional<Key> key = {};              // what is dropped is drawn from; the device's stream where left out
  bool quiet = false;                       // quiet_softmax(): a query may look at nothing
};

/// softmax(scale q k^T + bias) v: q [batch, heads, queries, width], k [batch, kv_heads, keys, width],
/// v [batch, kv_heads, keys, value_width] -> [batch, heads, queries, value_width]. kv_heads divides heads: each head of k
/// and v serves the same number of neighbouring heads of q. mask (boolean, true where a query may see a key) and bias,
/// which is added after the softcap, broadcast to [batch, heads, queries, keys]; either may be empty.
///
/// The last query stands at the last key's position, so that a few queries may look back on a cache of keys. A query
/// that sees no key gives zeros. What is hidden from a query, by mask, causal, window or a bias of -inf, counts for
/// nothing, whatever stands there, NaN and infinity too: neither in its result, nor in a gradient. On the CPU time x time
/// scores are never held, in either direction, for any element type and any strides (Dao et al., "FlashAttention", 2022),
/// except in a gradient that is itself differentiable.
Value attention(const Value& q, const Value& k, const Value& v, const AttentionOptions& options = {},
                const Value& mask = {}, const Value& bias = {});

/// sizes [queries, keys] -> true where a query may see a key under AttentionOptions' causal and window (0: none).
Value window_mask(const Shape& sizes, std::int64_t window, bool causal, const Device& device);
/// sizes [queries, keys] -> true where the key is not later than the query; the last of both stand side by side.
Value causal_mask(const Shape& sizes, const Device& device);
/// lengths [batch] -> [batch, 1, 1, keys], true for the first lengths[i] keys: a mask for attention().
Value padding_mask(const Value& lengths, std::int64_t keys);

}  // namespace kiln
