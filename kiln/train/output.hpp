// The usual outputs of a step: a loss, and what metrics need. A custom struct can be used as well if it has a `loss`, a
// Tensor<0>; metrics find `scores`, `predictions` and `targets` by these names, and the number of items by items().
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

/// The output of a model of texts, or of anything else that is predicted token by token.
struct SequenceOutput {
  Tensor<0> loss;          // the mean over the tokens that are not padding
  Tensor<3> scores;        // [batch, classes, time]
  Tensor<2, Int> targets;  // [batch, time]
  std::int64_t tokens;     // without padding
  std::int64_t items() const { return tokens; }
};

/// How many items an output is for, which is the weight of its loss; 1 if it does not say.
template <class Output>
std::int64_t items_of(const Output& output) {
  if constexpr (requires { output.items(); }) return output.items();
  else return 1;
}

}  // namespace kiln
