#include <algorithm>
#include <cmath>

#include "kiln/ops/elementwise/numbers.hpp"
#include "kiln/ops/elementwise/powers.hpp"
#include "kiln/ops/elementwise/rows.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/ops/loss/check.hpp"
#include "kiln/ops/loss/loss.hpp"
#include "kiln/ops/reduce/scan.hpp"

namespace kiln {

namespace {

/// [batch, classes, sizes...] -> [targets, classes]
Value by_target(const Value& x) {
  const std::int64_t classes = x.dim(1);
  if (x.rank() > 2) {
    Dims dims{0};
    for (int i = 2; i < x.rank(); ++i) dims.push_back(i);
    dims.push_back(1);
    return reshape(permute(x, dims), {classes ? x.numel() / classes : 0, classes});
  }
  return x;
}

Shape target_shape(std::string_view name, const Value& x) {
  op::require_float(name, x);
  require<ShapeError>(x.rank() >= 2, name, ": needs [batch, classes, sizes...], got ", x.shape());
  Shape shape = x.shape();
  shape.erase(1);
  return shape;
}

/// Class indices [targets] with ignored ones replaced by 0, and the weight of each: empty where all are 1.
struct Weighing {
  Value targets, weights, counted;
};
Weighing weigh(std::string_view name, const Value& x, const Value& targets, const Value& weights,
               std::optional<std::int64_t> ignore) {
  op::require_index(name, targets);
  const Shape shape = target_shape(name, x);
  require<ShapeError>(targets.shape() == shape, name, ": targets ", targets.shape(), " of ", x.shape(), " must be ",
                      shape);
  require<ShapeError>(weights.empty() || weights.shape() == Shape{x.dim(1)}, name, ": weights ",
                      weights.empty() ? Shape{} : weights.shape(), " do not fit the ", x.dim(1), " classes of ",
                      x.shape());
  Weighing result{reshape(targets, {targets.numel()}), {}, {}};
  if (ignore) {
    result.counted = ne(result.targets, *ignore);
    result.targets = where(result.counted, result.targets, 0);
  }
  if (weights) result.weights = select(cast(weights, x.dtype()), 0, result.targets);
  if (ignore) {
    result.weights = result.weights ? where(result.counted, result.weights, 0.0) : cast(result.counted, x.dtype());
  }
  return result;
}

/// Reduces weighted losses; their mean is the sum divided by the sum of weights.
Value reduce_weighted(const Value& losses, const Value& weights, const Shape& shape, Reduction reduction) {
  if (reduction == Reduction::Mean && weights) return sum(losses) / sum(weights);
  return reduced(reshape(losses, shape), reduction);
}

/// The part of the loss that label smoothing spreads evenly over all classes: [targets, classes] -> [targets]
Value spread(const Value& logs, const Value& weights) {
  return neg(mean(weights ? logs * cast(weights, logs.dtype()) : logs, {1}));
}

Value cross_entropy_of_shares(const Value& logits, const Value& targets, const CrossEntropyOptions& options,
                              Reduction reduction) {
  require<ShapeError>(targets.shape() == logits.shape(), "cross_entropy: probabilities ", targets.shape(),
                      " must have the shape of logits ", logits.shape());
  require<ArgumentError>(!options.ignore, "cross_entropy: no class can be ignored where targets are probabilities");
  const Shape shape = target_shape("cross_entropy", logits);
  const Value logs = log_softmax(by_target(logits), 1);
  const double smoothing = options.label_smoothing;
  Value shares = by_target(targets);
  if (smoothing > 0) shares = shares * (1 - smoothing) + smoothing / static_cast<double>(logits.dim(1));
  if (options.weights) {
    require<ShapeError>(options.weights.shape() == Shape{logits.dim(1)}, "cross_entropy: weights ",
                        options.weights.shape(), " do not fit the ", logits.dim(1), " classes of ", logits.shape());
    shares = shares * options.weights;
  }
  return reduced(reshape(neg(sum(weighed(shares, logs), {1})), shape), reduction);
}

}  // namespace

Value cross_entropy(const Value& logits, const Value& targets, const CrossEntropyOptions& options,
                    Reduction reduction) {
  constexpr std::string_view name = "cross_entropy";
  require_unit(name, "label_smoothing", options.label_smoothing);
  op::require_tensor(name, targets);
  if (is_float(targets.dtype())) return cross_entropy_of_shares(logits, targets, options, reduction);
  const Weighing weighing = weigh(name, logits, targets, options.weights, options.ignore);
  Value scores = by_target(logits);
  // The content of an ignored row must reach neither the loss nor a gradient; 0 times infinity would.
  if (weighing.counted) scores = where(unsqueeze(weighing.counted, 1), scores, 0.0);
  Value losses = cross_entropy_each(scores, weighing.targets);
  if (weighing.weights) losses = weighed(weighing.weights, losses);
  if (options.label_smoothing > 0) {
    Value rest = spread(log_softmax(scores, 1), options.weights);
    if (weighing.counted) rest = where(weighing.counted, rest, 0.0);
    losses = losses * (1 - options.label_smoothing) + rest * options.label_smoothing;
  }
  return reduce_weighted(losses, weighing.weights, target_shape(name, logits), reduction);
}

Value nll_loss(const Value& log_probabilities, const Value& targets, const NllOptions& options, Reduction reduction) {
  const Weighing weighing = weigh("nll_loss", log_probabilities, targets, options.weights, options.ignore);
  const Value chosen = gather(by_target(log_probabilities), 1, unsqueeze(weighing.targets, 1));
  Value losses = neg(squeeze(chosen, 1));
  if (weighing.counted) losses = where(weighing.counted, losses, 0.0);
  if (weighing.weights) losses = weighed(weighing.weights, losses);
  return reduce_weighted(losses, weighing.weights, target_shape("nll_loss", log_probabilities), reduction);
}

namespace {

/// log(x), but -100 where that is less, without a gradient there.
Value bounded_log(const Value& x) {
  const Value zero = eq(x, 0);
  return where(zero, -100.0, maximum(log(where(zero, 1.0, x)), -100.0));
}

Value smoothed(const Value& targets, double smoothing) {
  return smoothing > 0 ? targets * (1 - smoothing) + smoothing / 2 : targets;
}

void require_binary(std::string_view name, const Value& x, const Value& targets,
                    const BinaryCrossEntropyOptions& options) {
  require_alike(name, x, targets);
  require_unit(name, "label_smoothing", options.label_smoothing);
  for (const Value& weights : {options.weights, options.positive_weights})
    require<ShapeError>(weights.empty() || broadcast(name, x.shape(), weights.shape()) == x.shape(), name, ": weights ",
                        weights.empty() ? Shape{} : weights.shape(), " do not broadcast to ", x.shape());
}

}  // namespace

Value binary_cross_entropy(const Value& probabilities, const Value& targets, const BinaryCrossEntropyOptions& options,
                           Reduction reduction) {
  require_binary("binary_cross_entropy", probabilities, targets, options);
  require<ArgumentError>(options.positive_weights.empty(),
                         "binary_cross_entropy: positive weights go with logits; use binary_cross_entropy_with_logits");
  const Value t = smoothed(cast(targets, probabilities.dtype()), options.label_smoothing);
  const CalledAs named("binary_cross_entropy");
  const Value p = within(probabilities, 0, 1);
  const Value losses = neg(t * bounded_log(p) + (1 - t) * bounded_log(1 - p));
  return reduced(options.weights ? losses * options.weights : losses, reduction);
}

Value binary_cross_entropy_with_logits(const Value& logits, const Value& targets,
                                       const BinaryCrossEntropyOptions& options, Reduction reduction) {
  require_binary("binary_cross_entropy_with_logits", logits, targets, options);
  const Value t = smoothed(cast(targets, logits.dtype()), options.label_smoothing);
  if (options.positive_weights) {
    const Value missed = options.positive_weights * t;
    const Value both = weighed(1 - t, softplus(logits)) + weighed(missed, softplus(neg(logits)));
    return reduced(options.weights ? both * options.weights : both, reduction);
  }
  const Value losses = logistic_loss(logits, t);
  return reduced(options.weights ? losses * options.weights : losses, reduction);
}

Value sigmoid_focal_loss(const Value& logits, const Value& targets, double alpha, double gamma, Reduction reduction) {
  require_alike("sigmoid_focal_loss", logits, targets);
  require_not_negative("sigmoid_focal_loss", "gamma", gamma);
  const Value t = cast(targets, logits.dtype()), p = sigmoid(logits);
  const Value missed = p * (1 - t) + (1 - p) * t;  // 1 - p_t
  Value losses = binary_cross_entropy_with_logits(logits, t, {}, Reduction::None);
  if (gamma != 0) losses = losses * power_of_size(missed, gamma);
  if (alpha >= 0) losses = losses * (t * alpha + (1 - t) * (1 - alpha));
  return reduced(losses, reduction);
}

Value multi_margin_loss(const Value& x, const Value& targets, const MultiMarginOptions& options, Reduction reduction) {
  constexpr std::string_view name = "multi_margin_loss";
  const Weighing weighing = weigh(name, x, targets, options.weights, {});
  require<ShapeError>(x.rank() == 2, name, ": x must be [batch, classes], got ", x.shape());
  require<ArgumentError>(options.power > 0, name, ": the power must be positive, got ", options.power);
  const Value own = gather(x, 1, unsqueeze(weighing.targets, 1));
  const Value is_own = one_hot(weighing.targets, x.dim(1), DType::Bool);
  const Value excess = relu(options.margin - own + x);
  const double p = options.power;
  const Value powers = p == 1 ? excess : p == 2 ? square(excess) : power_of_size(excess, p);
  Value losses = sum(where(is_own, 0.0, powers), {1}) / static_cast<double>(x.dim(1));
  if (weighing.weights) losses = losses * weighing.weights;
  return reduced(losses, reduction);
}

Value multilabel_margin_loss(const Value& x, const Value& targets, Reduction reduction) {
  constexpr std::string_view name = "multilabel_margin_loss";
  require_alike(name, x, targets);
  op::require_index(name, targets);
  require<ShapeError>(x.rank() == 1 || x.rank() == 2, name, ": x must be [batch, classes] or [classes], got ", x);
  if (x.rank() == 1)
    return reduced(multilabel_margin_loss(unsqueeze(x, 0), unsqueeze(targets, 0), Reduction::Sum), reduction);
  const std::int64_t classes = x.dim(1);
  // Everything after the first negative number is ignored. Entries that are no class get index 0 and are not counted.
  const Value valid = gt(cumprod(cast(ge(targets, 0), DType::I64), 1), 0), place = where(valid, targets, 0);
  const Value taken = scatter(zeros_like(place), 1, place, cast(valid, place.dtype()), Update::Max);
  const Value own = unsqueeze(gather(x, 1, place), 2), others = unsqueeze(x, 1);
  const Value counts = logical_and(unsqueeze(valid, 2), unsqueeze(eq(taken, 0), 1));
  const Value losses = sum(where(counts, relu(1 - own + others), 0.0), {1, 2});
  return reduced(losses / static_cast<double>(std::max<std::int64_t>(classes, 1)), reduction);
}

Value multilabel_soft_margin_loss(const Value& logits, const Value& targets, const Value& weights,
                                  Reduction reduction) {
  require_alike("multilabel_soft_margin_loss", logits, targets);
  require<ShapeError>(logits.rank() >= 1, "multilabel_soft_margin_loss: needs classes, got ", logits);
  const Value each = binary_cross_entropy_with_logits(logits, targets, {.weights = weights}, Reduction::None);
  return reduced(mean(each, {-1}), reduction);
}

Value dice_loss(const Value& probabilities, const Value& targets, double smooth, Reduction reduction) {
  require_alike("dice_loss", probabilities, targets);
  require<ShapeError>(probabilities.rank() >= 1, "dice_loss: needs [batch, ...], got ", probabilities.shape());
  const Value t = cast(targets, probabilities.dtype());
  Dims dims;
  for (int i = 1; i < t.rank(); ++i) dims.push_back(i);
  const Value common = sum(probabilities * t, dims), all = sum(probabilities, dims) + sum(t, dims);
  return reduced(1 - (common * 2 + smooth) / (all + smooth), reduction);
}

}  // namespace kiln
