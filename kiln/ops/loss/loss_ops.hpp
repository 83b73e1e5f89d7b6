// Losses worth one kernel.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// logits [batch, classes], targets [batch] of class indices -> losses [batch], -log_softmax(logits)[target], of `dtype`: that
/// of logits, or float32 of halves, which are widened as they are read. And what gives the softmax again without its sums,
/// each [batch], no halves: exp((logits - largest) - log_sum), of which gradients are made; `largest` has none of its own.
struct CrossEntropy {
  static constexpr std::string_view kName = "cross_entropy";
  static constexpr Facts kFacts{Pattern::Composite, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::OnData};
  enum Slot { logits, targets };
  enum Result { losses, largest, log_sum };
  DType dtype;
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1u << logits | 1u << targets, .out = true}; }
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
