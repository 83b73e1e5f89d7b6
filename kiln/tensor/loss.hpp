// Losses.
#pragma once
#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// logits [batch, classes], targets [batch] of class indices -> [batch]: -log_softmax(logits)[target]
inline Tensor<1> cross_entropy(const Tensor<2>& logits, const Tensor<1, Int>& targets) {
  return Typed{cross_entropy(logits.value(), targets.value())};
}

}  // namespace kiln
