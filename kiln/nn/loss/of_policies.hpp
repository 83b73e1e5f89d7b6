// Losses of a language model that learns from what people, or a reward, thought of its answers.
#pragma once
#include "kiln/nn/loss/reduced.hpp"

namespace kiln::nn {

/// Logarithms of what a policy and a reference give to a chosen and a rejected answer, [batch] each.
struct Preferences {
  Tensor<1> chosen, rejected, reference_chosen, reference_rejected;
};
/// -log sigmoid(beta ((chosen - reference) - (rejected - reference))) (Rafailov et al., "Direct preference optimization",
/// 2023).
struct DpoLoss {
  double beta = 0.1;
  double label_smoothing = 0;  // the probability that a preference was noted the wrong way round
  Reduction reduction = Reduction::Mean;

  Tensor<0> forward(const Preferences& preferences) const;
  Tensor<1> forward_each(const Preferences& preferences) const;
};

/// Answers that a policy drew, and what they were worth: [batch, time] logarithms of what each token's probability is
/// (the policy that learns), was (the one that drew; none: the same), and would be (the reference; none where beta is 0).
struct Answers {
  Tensor<2> log_probabilities;
  Tensor<1> advantages;  // [batch], of answers: group_advantages(rewards)
  Tensor<2> old_log_probabilities = {};
  Tensor<2> reference = {};
  Tensor<2, Bool> mask = {};  // true where there is a token of the answer; none: everywhere
};
/// The mean over an answer's tokens of -min(r A, clamp(r, 1 - clip, 1 + clip) A) + beta (q - log q - 1), where r = new /
/// old probability and q = reference / new (Shao et al., "DeepSeekMath", 2024, equations 3 and 4). An answer without tokens
/// counts 0.
struct GrpoLoss {
  double clip = 0.2;
  double clip_above = 0.2;  // 1 + clip_above bounds r from above (Yu et al., "DAPO", 2025, take 0.28)
  double beta = 0.04;
  Reduction reduction = Reduction::Mean;

  /// Throws ShapeError where sizes differ, ArgumentError for negative options, or for no reference where beta is not 0.
  Tensor<0> forward(const Answers& answers) const;
  /// [batch]
  Tensor<1> forward_each(const Answers& answers) const;
};

/// rewards [questions, answers] -> [questions * answers]: each less its question's mean, and by the deviation of the
/// question's rewards where `scaled` (Liu et al., "Understanding R1-Zero-like training", 2025, leave that away). Equal
/// rewards have no advantage. Throws ShapeError for fewer than two answers.
Tensor<1> group_advantages(const Tensor<2>& rewards, bool scaled = true);

}  // namespace kiln::nn
