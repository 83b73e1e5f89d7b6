// Losses of language models that are trained by preferences or rewards for their answers.
#pragma once
#include "kiln/nn/loss/reduced.hpp"

namespace kiln::nn {

/// Log-probabilities of a chosen and a rejected answer under the policy and the reference, [batch] each.
struct Preferences {
  Tensor<1> chosen, rejected, reference_chosen, reference_rejected;
};
/// -log sigmoid(beta ((chosen - reference) - (rejected - reference))) (Rafailov et al., "Direct preference optimization",
/// 2023).
struct DpoLoss {
  double beta = 0.1;
  double label_smoothing = 0;  // the probability that a preference is recorded the wrong way round
  Reduction reduction = Reduction::Mean;

  Tensor<0> forward(const Preferences& preferences) const;
  Tensor<1> forward_each(const Preferences& preferences) const;
};

/// Answers sampled from a policy, and their advantages. Log-probabilities of tokens [batch, time] are given for the
/// policy that is trained, the one that sampled (empty: the same), and the reference (empty if beta is 0).
struct Answers {
  Tensor<2> log_probabilities;
  Tensor<1> advantages;  // [batch], one per answer: group_advantages(rewards)
  Tensor<2> old_log_probabilities = {};
  Tensor<2> reference = {};
  Tensor<2, Bool> mask = {};  // true for tokens of the answer; empty: everywhere
};
/// The mean over an answer's tokens of -min(r A, clamp(r, 1 - clip, 1 + clip) A) + beta (q - log q - 1), where r = new
/// / old probability and q = reference / new (Shao et al., "DeepSeekMath", 2024, equations 3 and 4). An answer without
/// tokens counts as 0.
struct GrpoLoss {
  double clip = 0.2;
  double clip_above = 0.2;  // 1 + clip_above is the upper bound of r (Yu et al., "DAPO", 2025, use 0.28)
  double beta = 0.04;
  Reduction reduction = Reduction::Mean;

  /// Throws ShapeError if sizes differ, ArgumentError for negative options, or for no reference if beta is not 0.
  Tensor<0> forward(const Answers& answers) const;
  /// [batch]
  Tensor<1> forward_each(const Answers& answers) const;
};

/// rewards [questions, answers] -> [questions * answers]: subtracts the question's mean, and, if `scaled`, divides by
/// the deviation of the question's rewards (Liu et al., "Understanding R1-Zero-like training", 2025, do not). Equal
/// rewards have no advantage. Throws ShapeError for fewer than two answers.
Tensor<1> group_advantages(const Tensor<2>& rewards, bool scaled = true);

}  // namespace kiln::nn
