// What a classifier said of a batch, and what was right: where the metrics of classification begin.
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
///   yes or no              scores [batch], targets [batch] of 0 and 1
///   several labels         scores [batch, labels], targets [batch, labels] of 0 and 1
struct LabelOptions {
  double threshold = 0.5;                // a score above it is a yes: 0.5 of probabilities, 0 of logits
  std::optional<std::int64_t> ignore{};  // targets that do not count: padding
  std::optional<std::int64_t> top{};     // the so many largest scores of an item are a yes each, whatever they are
};

struct LabelBatch {
  std::int64_t classes = 0;                     // or labels
  bool exclusive = false;                       // one class an item
  std::vector<std::int64_t> predicted, actual;  // classes of items, or 0 and 1 of [item, label]

  std::int64_t size() const { return static_cast<std::int64_t>(actual.size()); }
};

/// Throws ShapeError where scores and targets do not fit, DataError for targets that are no class, ArgumentError for a `top` of
/// more than there are. `name` begins the sentence. Classes of which the `top` are chosen are labels, of which one is right.
LabelBatch label_batch(std::string_view name, const Value& scores, const Value& targets, const LabelOptions& options);

/// Throws ArgumentError where an item would have several classes.
void require_one_class(std::string_view name, const LabelOptions& options);

/// The targets as labels of that many classes, checked; those to be ignored are -1.
std::vector<std::int64_t> checked_targets(std::string_view name, const Value& targets, std::int64_t classes,
                                          std::optional<std::int64_t> ignore);
/// Throws ShapeError unless the ranks and sizes are those of one of the three kinds; whether it is the first.
bool is_exclusive(std::string_view name, const Value& scores, const Value& targets);

/// Scores and targets of these ranks are of one of the three kinds.
template <int S, int T>
concept LabelRanks = S >= 1 && (S == T + 1 || (S == T && S <= 2));

}  // namespace kiln::metric
