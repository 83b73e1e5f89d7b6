// Attention over [batch, heads, time, width], its masks, and encodings of positions.
#pragma once
#include "kiln/ops/sequence/attention.hpp"
#include "kiln/ops/sequence/position.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// softmax(scale q k^T + bias) v; mask (true where a query may see a key) and bias broadcast to
/// [batch, heads, queries, keys]. See ops/sequence/attention.hpp.
template <int M = 4, int B = 4>
Tensor<4> attention(const Tensor<4>& q, const Tensor<4>& k, const Tensor<4>& v, const AttentionOptions& options = {},
                    const Tensor<M, Bool>& mask = {}, const Tensor<B>& bias = {}) {
  static_assert(M <= 4 && B <= 4, "attention: mask and bias broadcast to [batch, heads, queries, keys]");
  return Typed{attention(q.value(), k.value(), v.value(), options, mask.value(), bias.value())};
}

/// True where the key is not later than the query; the last query has the position of the last key.
inline Tensor<2, Bool> causal_mask(std::int64_t queries, std::int64_t keys, const Device& device) {
  return Typed{causal_mask({queries, keys}, device)};
}
/// True where the key is at a distance below `window` from the query and, if causal, not later.
inline Tensor<2, Bool> window_mask(std::int64_t queries, std::int64_t keys, std::int64_t window, bool causal,
                                   const Device& device) {
  return Typed{window_mask({queries, keys}, window, causal, device)};
}
/// lengths [batch] -> [batch, 1, 1, keys], true for the first lengths[i] keys.
inline Tensor<4, Bool> padding_mask(const Tensor<1, Int>& lengths, std::int64_t keys) {
  return Typed{padding_mask(lengths.value(), keys)};
}

/// Rotates pairs of elements of x [..., time, width] by angles whose cosine and sine are given as [time, width / 2].
template <int D, int E>
Tensor<D> rotary(const Tensor<D>& x, const Tensor<E>& cosine, const Tensor<E>& sine,
                 RotaryPairs pairs = RotaryPairs::Halves) {
  static_assert(2 <= D && E <= D, "rotary: x is [..., time, width], and the tables broadcast to half of it");
  return Typed{rotary(x.value(), cosine.value(), sine.value(), pairs)};
}
struct RotaryAngles {
  Tensor<2> cosine, sine;
};
/// Tables for positions [time]: auto [cosine, sine] = rotary_tables(positions, width); each [time, width / 2].
template <class K>
RotaryAngles rotary_tables(const Tensor<1, K>& positions, std::int64_t width, double base = 10000) {
  const auto [cosine, sine] = rotary_tables(positions.value(), width, base);
  return {Typed{cosine}, Typed{sine}};
}
/// [heads, queries, keys], added to attention's scores: the distance times the head's negative slope.
inline Tensor<3> alibi_bias(std::int64_t heads, std::int64_t queries, std::int64_t keys, const Device& device) {
  return Typed{alibi_bias({heads, queries, keys}, device)};
}
/// [time, width]: sines in even columns, cosines in odd ones.
inline Tensor<2> sinusoidal_positions(std::int64_t time, std::int64_t width, const Device& device,
                                      double base = 10000) {
  return Typed{sinusoidal_positions({time, width}, device, base)};
}

}  // namespace kiln
