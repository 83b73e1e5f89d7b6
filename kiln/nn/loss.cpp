#include "kiln/nn/loss.hpp"

#include "kiln/ops/functions/loss.hpp"

namespace kiln::nn {
namespace {

Value loss_of(const CrossEntropyLoss& loss, const Tensor<2>& logits, const Tensor<1, Int>& targets,
              kiln::Reduction reduction) {
  return cross_entropy(logits.value(), targets.value(),
                       {.weights = loss.class_weights, .ignore = loss.ignore, .label_smoothing = loss.label_smoothing},
                       reduction);
}

}  // namespace

Tensor<1> CrossEntropyLoss::forward_each(const Tensor<2>& logits, const Tensor<1, Int>& targets) const {
  return Typed{loss_of(*this, logits, targets, kiln::Reduction::None)};
}

Tensor<0> CrossEntropyLoss::forward(const Tensor<2>& logits, const Tensor<1, Int>& targets) const {
  const bool mean = reduction == Reduction::Mean;
  return Typed{loss_of(*this, logits, targets, mean ? kiln::Reduction::Mean : kiln::Reduction::Sum)};
}

Tensor<0> MseLoss::reduce(const Value& prediction, const Value& target) const {
  require<ShapeError>(prediction.shape() == target.shape(), "MseLoss: prediction ", prediction.shape(), " and target ",
                      target.shape(), " differ");
  const Value squares = square(prediction - target);
  return Typed{reduction == Reduction::Mean ? mean(squares) : sum(squares)};
}

}  // namespace kiln::nn
