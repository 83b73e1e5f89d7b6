// Losses with kernels of their own.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

/// logits [batch, classes], targets [batch] of class indices -> losses [batch], -log_softmax(logits)[target], of type
/// `dtype`: the type of logits, or float32 for halves, which are widened as they are read. Two more results [batch],
/// never in half precision, restore the softmax without new sums as exp((logits - largest) - log_sum), for gradients;
/// `largest` itself has none.
struct CrossEntropy {
  static constexpr std::string_view kName = "cross_entropy";
  static constexpr OpTraits kTraits{Pattern::Composite, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::OnData};
  enum Slot { logits, targets };
  enum Result { losses, largest, log_sum };
  DType dtype;
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1u << logits | 1u << targets, .out = true}; }
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op
