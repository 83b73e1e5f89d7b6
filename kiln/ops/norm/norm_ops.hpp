// Normalisations that a single kernel computes in one pass.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// exp(x) / sum(exp(x)) along `dim`, or its logarithm; safe for large x.
struct Softmax {
  static constexpr std::string_view kName = "softmax";
  static constexpr OpTraits kTraits{Pattern::Composite, AutocastTo::Single, Bound::Memory, Rows::ByAttributes,
                                    MayFail::Never};
  bool is_row_wise(int axis) const;
  int dim;
  bool log = false;
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.out = true}; }
  void vjp(Backward& backward) const;
};

/// (x - mean) / sqrt(variance + epsilon) * weight + bias over the trailing dimensions that weight has.
struct LayerNorm {
  static constexpr std::string_view kName = "layer_norm";
  static constexpr OpTraits kTraits{Pattern::Composite, AutocastTo::Single, Bound::Memory, Rows::None, MayFail::Never};
  enum Slot { x, weight, bias, epsilon };
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1u << x | 1u << weight | 1u << epsilon}; }
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
