// Losses worth one kernel.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// logits [batch, classes], targets [batch] of class indices -> [batch]: -log_softmax(logits)[target]
struct CrossEntropy {
  static constexpr std::string_view kName = "cross_entropy";
  static constexpr Facts kFacts{Pattern::Composite, AutocastTo::Single, Bound::Memory, Rows::None, MayFail::OnData};
  enum Slot { logits, targets };
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1u << logits | 1u << targets}; }
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
