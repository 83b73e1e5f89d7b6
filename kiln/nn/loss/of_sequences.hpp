// Losses of sequences whose alignment with their labels is unknown; see kiln/ops/loss/ctc_transducer.hpp.
#pragma once
#include "kiln/nn/loss/reduced.hpp"
#include "kiln/ops/loss/ctc_transducer.hpp"

namespace kiln::nn {

/// Connectionist temporal classification. Reduction::Mean first divides each loss by the number of its labels.
struct CtcLoss {
  std::int64_t blank = 0;      // the class that stands for no label
  bool zero_infinity = false;  // a sequence that is too short for its labels counts as 0, rather than infinity
  Reduction reduction = Reduction::Mean;

  /// log_probs [time, batch, class], targets [batch, label], lengths [batch] -> scalar
  Tensor<0> forward(const Tensor<3>& log_probs, const Tensor<2, Int>& targets, const Tensor<1, Int>& input_lengths,
                    const Tensor<1, Int>& target_lengths) const {
    return Typed{ctc_loss(log_probs.value(), targets.value(), input_lengths.value(), target_lengths.value(),
                          {blank, zero_infinity}, to_one_number("CtcLoss", reduction))};
  }
  /// [batch]
  Tensor<1> forward_each(const Tensor<3>& log_probs, const Tensor<2, Int>& targets, const Tensor<1, Int>& input_lengths,
                         const Tensor<1, Int>& target_lengths) const {
    return Typed{ctc_loss(log_probs.value(), targets.value(), input_lengths.value(), target_lengths.value(),
                          {blank, zero_infinity}, Reduction::None)};
  }
};

/// The transducer's loss.
struct RnntLoss {
  std::int64_t blank = 0;  // the class that stands for the next frame
  Reduction reduction = Reduction::Mean;

  /// logits [batch, time, label + 1, class], targets [batch, label], lengths [batch] -> scalar
  Tensor<0> forward(const Tensor<4>& logits, const Tensor<2, Int>& targets, const Tensor<1, Int>& logit_lengths,
                    const Tensor<1, Int>& target_lengths) const {
    return Typed{rnnt_loss(logits.value(), targets.value(), logit_lengths.value(), target_lengths.value(), {blank},
                           to_one_number("RnntLoss", reduction))};
  }
  /// [batch]
  Tensor<1> forward_each(const Tensor<4>& logits, const Tensor<2, Int>& targets, const Tensor<1, Int>& logit_lengths,
                         const Tensor<1, Int>& target_lengths) const {
    return Typed{rnnt_loss(logits.value(), targets.value(), logit_lengths.value(), target_lengths.value(), {blank},
                           Reduction::None)};
  }
};

}  // namespace kiln::nn
