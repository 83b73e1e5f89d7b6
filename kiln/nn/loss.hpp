// Losses.
#pragma once
#include <optional>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/loss.hpp"

namespace kiln::nn {

/// -log softmax(logits)[target], as PyTorch's CrossEntropyLoss.
struct CrossEntropyLoss {
  double label_smoothing = 0;               // how much of the target is spread evenly over all classes
  Tensor<1> class_weights = {};             // [classes], or none; the mean is then weighted by them
  std::optional<std::int64_t> ignore = {};  // targets with this class count for nothing; the mean of nothing is NaN
  Reduction reduction = Reduction::Mean;

  /// logits [batch, classes], targets [batch] -> scalar. Throws ShapeError, IndexError for a class that is
  /// none, ArgumentError for Reduction::None, which is forward_each().
  Tensor<0> forward(const Tensor<2>& logits, const Tensor<1, Int>& targets) const;
  /// Unreduced: [batch], each weighted by its class, 0 where ignored.
  Tensor<1> forward_each(const Tensor<2>& logits, const Tensor<1, Int>& targets) const;
};

/// (prediction - target)^2
struct MseLoss {
  Reduction reduction = Reduction::Mean;

  /// Shapes must be the same: a loss that broadcasts is nearly always a mistake. Throws ShapeError, ArgumentError
  /// for Reduction::None, which is no scalar.
  template <int D>
  Tensor<0> forward(const Tensor<D>& prediction, const Tensor<D>& target) const {
    return reduce(prediction.value(), target.value());
  }

 private:
  Tensor<0> reduce(const Value& prediction, const Value& target) const;
};

}  // namespace kiln::nn
