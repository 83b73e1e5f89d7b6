#include "kiln/nn/loss.hpp"

#include "kiln/ops/loss/loss.hpp"

namespace kiln::nn {
namespace {

Value loss_of(const CrossEntropyLoss& loss, const Tensor<2>& logits, const Tensor<1, Int>& targets,
              Reduction reduction) {
  return cross_entropy(logits.value(), targets.value(),
                       {.weights = loss.class_weights, .ignore = loss.ignore, .label_smoothing = loss.label_smoothing},
                       reduction);
}

}  // namespace

Tensor<1> CrossEntropyLoss::forward_each(const Tensor<2>& logits, const Tensor<1, Int>& targets) const {
  return Typed{loss_of(*this, logits, targets, Reduction::None)};
}

Tensor<0> CrossEntropyLoss::forward(const Tensor<2>& logits, const Tensor<1, Int>& targets) const {
  require<ArgumentError>(reduction != Reduction::None,
                         "CrossEntropyLoss: forward() gives one number; with Reduction::None "
                         "call forward_each()");
  return Typed{loss_of(*this, logits, targets, reduction)};
}

Tensor<0> MseLoss::reduce(const Value& prediction, const Value& target) const {
  require<ShapeError>(prediction.shape() == target.shape(), "MseLoss: prediction ", prediction.shape(), " and target ",
                      target.shape(), " differ");
  require<ArgumentError>(reduction != Reduction::None,
                         "MseLoss: forward() gives one number; with Reduction::None call "
                         "mse_loss<Reduction::None>(prediction, target)");
  return Typed{mse_loss(prediction, target, reduction)};
}

}  // namespace kiln::nn
