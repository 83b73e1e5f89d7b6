// Losses of sequences whose alignment with their labels is not known.
#pragma once
#include "kiln/ops/loss/loss.hpp"

namespace kiln {

struct CtcOptions {
  std::int64_t blank = 0;      // the class that stands for no label
  bool zero_infinity = false;  // a sequence too short for its labels has the loss 0 instead of infinity
};

/// Connectionist temporal classification: -log of the probability of the labels, summed over all alignments that yield
/// them when repetitions are merged and blanks dropped.
///
/// log_probs [time, batch, class] (log_softmax of the scores), targets [batch, label] of classes (entries beyond a
/// sequence's length are not read), lengths [batch]. Mean divides each loss by the number of its labels first (by 1
/// where there is none). The gradient of an infinite loss is 0. Options and definition are PyTorch's; the gradient is
/// that by log_probs, and flows on through log_softmax.
Value ctc_loss(const Value& log_probs, const Value& targets, const Value& input_lengths, const Value& target_lengths,
               const CtcOptions& options = {}, Reduction reduction = Reduction::Mean);

struct RnntOptions {
  std::int64_t blank = 0;  // the class that stands for the next frame
};

/// The transducer loss: -log of the probability of the labels, summed over all ways to emit them in the frames.
///
/// logits [batch, time, label + 1, class] before the softmax, targets [batch, label], lengths [batch].
Value rnnt_loss(const Value& logits, const Value& targets, const Value& logit_lengths, const Value& target_lengths,
                const RnntOptions& options = {}, Reduction reduction = Reduction::Mean);

}  // namespace kiln
