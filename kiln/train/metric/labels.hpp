// The predictions of a classifier for a batch, and the true labels: the input of classification metrics.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "kiln/ops/value.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln::metric {

/// Three kinds of classification are told apart by the ranks:
///   one class of several   scores [batch, classes, ...], targets [batch, ...]: the class of the largest score
///   binary                 scores [batch], targets [batch] of 0 and 1
///   several labels         scores [batch, labels], targets [batch, labels] of 0 and 1
struct LabelOptions {
  double threshold = 0.5;                // a score above it is positive: 0.5 for probabilities, 0 for logits
  std::optional<std::int64_t> ignore{};  // a target that is ignored: padding
  std::optional<std::int64_t> top{};     // instead, this many largest scores of an item are positive
};

struct LabelBatch {
  std::int64_t classes = 0;                     // or labels
  bool exclusive = false;                       // one class per item
  std::vector<std::int64_t> predicted, actual;  // classes of items, or 0 and 1 of [item, label]

  std::int64_t size() const { return static_cast<std::int64_t>(actual.size()); }
};

/// Throws ShapeError if scores and targets do not fit, DataError for targets that are no class, ArgumentError for a
/// `top` larger than the number of classes. `name` begins the message. With `top`, classes are labels, of which one is
/// true.
LabelBatch label_batch(std::string_view name, const Value& scores, const Value& targets, const LabelOptions& options);

/// Throws ArgumentError if an item could have several classes.
void require_one_class(std::string_view name, const LabelOptions& options);

/// The targets as labels of that many classes, checked; ignored ones are -1.
std::vector<std::int64_t> checked_targets(std::string_view name, const Value& targets, std::int64_t classes,
                                          std::optional<std::int64_t> ignore);
/// Throws ShapeError unless the ranks and sizes are those of one of the three kinds; returns whether it is the first.
bool is_exclusive(std::string_view name, const Value& scores, const Value& targets);

/// The ranks of scores and targets of one of the three kinds.
template <int S, int T>
concept LabelRanks = S >= 1 && (S == T + 1 || (S == T && S <= 2));

}  // namespace kiln::metric
