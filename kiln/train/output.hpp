// What a step usually gives: a loss, and what metrics look at. A struct of one's own does as well, if it has a `loss`, a
// Tensor<0>; metrics find `scores`, `predictions` and `targets` by these names, and how many items it stands for by an
// items().
#pragma once
#include <cstdint>

#include "kiln/tensor/tensor.hpp"

namespace kiln {

struct ClassificationOutput {
  Tensor<0> loss;          // the mean over the batch
  Tensor<2> scores;        // [batch, classes]
  Tensor<1, Int> targets;  // [batch]
  std::int64_t items() const { return targets.numel(); }
};

struct MultiLabelOutput {
  Tensor<0> loss;
  Tensor<2> scores;        // [batch, labels]
  Tensor<2, Int> targets;  // [batch, labels], 0 and 1
  std::int64_t items() const { return targets.dim(0); }
};

struct RegressionOutput {
  Tensor<0> loss;
  Tensor<2> predictions, targets;  // [batch, outputs]
  std::int64_t items() const { return targets.dim(0); }
};

/// Of texts, or anything else that is said piece by piece.
struct SequenceOutput {
  Tensor<0> loss;          // the mean over the tokens that count
  Tensor<3> scores;        // [batch, classes, time]
  Tensor<2, Int> targets;  // [batch, time]
  std::int64_t tokens;     // that count: those that are no padding
  std::int64_t items() const { return tokens; }
};

/// How many items an output stands for, which is how much its loss counts; 1 where it does not say.
template <class Output>
std::int64_t items_of(const Output& output) {
  if constexpr (requires { output.items(); }) return output.items();
  else return 1;
}

}  // namespace kiln
