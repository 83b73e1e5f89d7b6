// Losses of sequences whose alignment with their labels is not known; see kiln/ops/loss/ctc_transducer.hpp, whose
// functions of values can also return unreduced losses.
#pragma once
#include "kiln/ops/loss/ctc_transducer.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// log_probs [time, batch, class], targets [batch, label], lengths [batch]
inline Tensor<0> ctc_loss(const Tensor<3>& log_probs, const Tensor<2, Int>& targets,
                          const Tensor<1, Int>& input_lengths, const Tensor<1, Int>& target_lengths,
                          const CtcOptions& options = {}, Reduction reduction = Reduction::Mean) {
  return Typed{
      ctc_loss(log_probs.value(), targets.value(), input_lengths.value(), target_lengths.value(), options, reduction)};
}

/// logits [batch, time, label + 1, class], targets [batch, label], lengths [batch]
inline Tensor<0> rnnt_loss(const Tensor<4>& logits, const Tensor<2, Int>& targets, const Tensor<1, Int>& logit_lengths,
                           const Tensor<1, Int>& target_lengths, const RnntOptions& options = {},
                           Reduction reduction = Reduction::Mean) {
  return Typed{
      rnnt_loss(logits.value(), targets.value(), logit_lengths.value(), target_lengths.value(), options, reduction)};
}

}  // namespace kiln
