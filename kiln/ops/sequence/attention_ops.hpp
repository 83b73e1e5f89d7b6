// Scaled dot-product attention and its gradient, each as one op: a kernel need never store all scores at once.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// q [batch, heads, queries, width], k [batch, kv_heads, keys, width], v [batch, kv_heads, keys, value_width];
/// kv_heads divides heads. The score of query i and key j is cap(scale q_i k_j) + bias_ij with cap(x) =
/// softcap tanh(x / softcap), or -inf where i may not see j. Results: softmax(scores) v, zeros for a query that sees
/// nothing, and the logarithm of each query's sum of exp(scores) [batch, heads, queries], in float32 for halves.
struct Attention {
  static constexpr std::string_view kName = "attention";
  static constexpr OpTraits kTraits{Pattern::Composite, AutocastTo::Half, Bound::Compute, Rows::None, MayFail::Never};
  double flops(Inputs in, Inputs out) const;
  enum Slot {
    q,
    k,
    v,
    mask,
    bias,
    scale,
    softcap
  };  // the last two are plain numbers; mask, bias, softcap may be absent
  bool causal = false;
  std::int64_t window = 0;  // 0: none
  Float32Precision::Level precision = Float32Precision::OfDevice;
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = ~0u, .out = true}; }
  void vjp(Backward& backward) const;
};

/// The gradients of q, k and v, or that of the bias. `log_sum` is Attention's second result, `grad` the gradient of the
/// first, and `delta` [batch, heads, queries] is sum(grad * output) minus the gradient of log_sum. `out`, the first
/// result, is given where delta is only that sum: a device's library may want to compute it itself.
struct AttentionGrad {
  static constexpr std::string_view kName = "attention_grad";
  static constexpr OpTraits kTraits{Pattern::Composite, AutocastTo::Same, Bound::Compute, Rows::None, MayFail::Never};
  double flops(Inputs in, Inputs out) const;
  enum Slot { q, k, v, mask, bias, scale, softcap, grad, log_sum, delta, out };
  bool causal = false;
  std::int64_t window = 0;
  bool of_bias = false;
  Float32Precision::Level precision = Float32Precision::OfDevice;
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  void vjp(Backward& backward) const;  // none: Attention records the expansion where a gradient is wanted
};

}  // namespace kiln::op
