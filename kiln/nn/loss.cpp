#include "kiln/nn/loss.hpp"

namespace kiln::nn {
namespace {

/// How much each target counts.
struct Weighing {
  Value targets;  // ignored ones replaced by class 0
  Value counted;  // [batch], false where ignored; empty: none is
  Value weights;  // [batch], what the mean divides by the sum of; empty: all 1
};

Weighing weigh(const CrossEntropyLoss& loss, const Value& targets, DType dtype) {
  Weighing result{targets, {}, {}};
  if (loss.ignore) {
    result.counted = ne(targets, *loss.ignore);
    result.targets = where(result.counted, targets, 0);
  }
  if (!loss.class_weights.empty()) result.weights = select(loss.class_weights.value(), 0, result.targets);
  if (loss.ignore) {
    const Value counted = cast(result.counted, dtype);
    result.weights = result.weights.empty() ? counted : result.weights * counted;
  }
  return result;
}

void check(const CrossEntropyLoss& loss, const Value& logits) {
  require<ArgumentError>(loss.label_smoothing >= 0 && loss.label_smoothing <= 1, "CrossEntropyLoss: label_smoothing ",
                         loss.label_smoothing, " is not between 0 and 1");
  const Tensor<1>& weights = loss.class_weights;
  require<ShapeError>(weights.empty() || weights.numel() == logits.dim(1), "CrossEntropyLoss: class_weights ",
                      weights.empty() ? Shape{} : weights.shape(), " do not fit logits ", logits.shape());
}

/// The part that label smoothing takes from the target and gives to every class: [batch]
Value spread(const CrossEntropyLoss& loss, const Value& logits) {
  const Value logs = log_softmax(logits, 1);
  return neg(loss.class_weights.empty() ? mean(logs, {1}) : mean(logs * loss.class_weights.value(), {1}));
}

/// [batch]: the target's share weighted by its own class, the spread share by every class; an ignored row loses both.
Value each(const CrossEntropyLoss& loss, const Value& logits, const Weighing& weighing) {
  Value losses = cross_entropy_each(logits, weighing.targets);
  if (!weighing.weights.empty()) losses = losses * weighing.weights;
  if (loss.label_smoothing == 0) return losses;
  Value rest = spread(loss, logits);
  if (!weighing.counted.empty()) rest = where(weighing.counted, rest, 0);
  return losses * (1 - loss.label_smoothing) + rest * loss.label_smoothing;
}

}  // namespace

Tensor<1> CrossEntropyLoss::forward_each(const Tensor<2>& logits, const Tensor<1, Int>& targets) const {
  check(*this, logits.value());
  return Typed{each(*this, logits.value(), weigh(*this, targets.value(), logits.dtype()))};
}

Tensor<0> CrossEntropyLoss::forward(const Tensor<2>& logits, const Tensor<1, Int>& targets) const {
  check(*this, logits.value());
  const Weighing weighing = weigh(*this, targets.value(), logits.dtype());
  const Value losses = each(*this, logits.value(), weighing);
  if (reduction == Reduction::Sum) return Typed{sum(losses)};
  return Typed{weighing.weights.empty() ? mean(losses) : sum(losses) / sum(weighing.weights)};
}

Tensor<0> MseLoss::reduce(const Value& prediction, const Value& target) const {
  require<ShapeError>(prediction.shape() == target.shape(), "MseLoss: prediction ", prediction.shape(), " and target ",
                      target.shape(), " differ");
  const Value squares = square(prediction - target);
  return Typed{reduction == Reduction::Mean ? mean(squares) : sum(squares)};
}

}  // namespace kiln::nn
