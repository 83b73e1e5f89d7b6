// Losses of predicted classes. Each is documented by the function of its name in kiln/ops/loss/loss.hpp.
#pragma once
#include <optional>

#include "kiln/nn/loss/reduced.hpp"

namespace kiln::nn {

/// -log softmax(logits)[target], as PyTorch's CrossEntropyLoss.
struct CrossEntropyLoss {
  double label_smoothing = 0;               // the fraction of the target that is spread evenly over all classes
  Tensor<1> class_weights = {};             // [classes], or empty; they also weight the mean
  std::optional<std::int64_t> ignore = {};  // targets of this class are ignored; the mean of no targets is NaN
  Reduction reduction = Reduction::Mean;

  /// forward(logits [batch, classes, sizes...], targets [batch, sizes...] of classes, or probabilities with the shape
  /// of logits) -> scalar. forward_each(...) -> [batch, sizes...], each weighted by its class, 0 where ignored. Throws
  /// ShapeError, IndexError for a class out of range, ArgumentError for Reduction::None in forward().
  KILN_LOSS(CrossEntropyLoss, cross_entropy, CrossEntropyOptions{class_weights, ignore, label_smoothing})
};

/// -log_probabilities[target]: cross entropy after log_softmax.
struct NllLoss {
  Tensor<1> class_weights = {};
  std::optional<std::int64_t> ignore = {};
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(NllLoss, nll_loss, NllOptions{class_weights, ignore})
};

/// -(t log p + (1 - t) log(1 - p)) for probabilities and targets of the same shape; targets may be booleans or
/// integers.
struct BinaryCrossEntropyLoss {
  double label_smoothing = 0;  // targets are moved towards 1/2 by this fraction
  Tensor<1> weights = {};      // broadcast to the predictions, or empty
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(BinaryCrossEntropyLoss, binary_cross_entropy,
            BinaryCrossEntropyOptions{.weights = weights, .label_smoothing = label_smoothing})
};

/// Binary cross entropy of logits, without overflow.
struct BinaryCrossEntropyWithLogitsLoss {
  double label_smoothing = 0;
  Tensor<1> weights = {};
  Tensor<1> positive_weights = {};  // weights of targets that are 1, broadcast to the predictions
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(BinaryCrossEntropyWithLogitsLoss, binary_cross_entropy_with_logits,
            BinaryCrossEntropyOptions{weights, positive_weights, label_smoothing})
};

/// Binary cross entropy of logits that gives little weight to examples that are easy (Lin et al., 2017).
struct FocalLoss {
  double alpha = 0.25;  // the weight of targets that are 1; negative: none
  double gamma = 2;
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(FocalLoss, sigmoid_focal_loss, alpha, gamma)
};

/// 1 - (2 sum(p t) + smooth) / (sum(p) + sum(t) + smooth) for each example (Milletari et al., 2016).
struct DiceLoss {
  double smooth = 1;
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(DiceLoss, dice_loss, smooth)
};

/// sum over j != t of max(0, margin - x_t + x_j)^power / classes: x [batch, classes], targets [batch].
struct MultiMarginLoss {
  double margin = 1, power = 1;
  Tensor<1> class_weights = {};
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(MultiMarginLoss, multi_margin_loss, MultiMarginOptions{margin, power, class_weights})
};

/// The loss of examples with several classes: targets are the classes of an example, followed by -1.
struct MultilabelMarginLoss {
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(MultilabelMarginLoss, multilabel_margin_loss)
};

/// The mean over classes of binary cross entropy of logits, for examples with several classes.
struct MultilabelSoftMarginLoss {
  Tensor<1> class_weights = {};
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(MultilabelSoftMarginLoss, multilabel_soft_margin_loss, class_weights)
};

}  // namespace kiln::nn
