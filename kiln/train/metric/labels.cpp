#include "kiln/train/metric/labels.hpp"

#include <algorithm>
#include <cmath>

#include "kiln/ops/functions.hpp"
#include "kiln/ops/reduce/order.hpp"

namespace kiln::metric {

bool is_exclusive(std::string_view name, const Value& scores, const Value& targets) {
  const Shape &s = scores.shape(), &t = targets.shape();
  if (s.size() == t.size() + 1 && s.size() >= 2) {
    Shape without = s;
    without.erase(1);
    if (without == t) return true;
  } else if (s == t && !s.empty() && s.size() <= 2) {
    return false;
  }
  fail<ShapeError>(name, ": scores ", s, " and targets ", t,
                   " do not fit: either [batch, classes, ...] and [batch, ...], or the same");
}

std::vector<std::int64_t> checked_targets(std::string_view name, const Value& targets, std::int64_t classes,
                                          std::optional<std::int64_t> ignore) {
  require<DTypeError>(!is_float(targets.dtype()), name, ": targets must be integers or booleans, got ", targets);
  std::vector<std::int64_t> labels = targets.data().to_vector<std::int64_t>();
  for (auto& label : labels) {
    if (ignore && label == *ignore) label = -1;
    else
      require<DataError>(label >= 0 && label < classes, name, ": target ", label, " of ", classes,
                         " classes does not exist");
  }
  return labels;
}

namespace {

LabelBatch largest(std::string_view name, const Value& scores, const Value& targets, const LabelOptions& options) {
  const bool exclusive = is_exclusive(name, scores, targets);
  const std::int64_t top = *options.top;
  require<ArgumentError>(scores.rank() >= 2, name, ": yes or no has no ", top, " largest scores");
  LabelBatch batch;
  batch.classes = scores.dim(1);
  require<ArgumentError>(top >= 1 && top <= batch.classes, name, ": top = ", top, " of ", batch.classes, " classes");
  const auto labels = checked_targets(name, targets, exclusive ? batch.classes : 2, options.ignore);
  if (labels.empty()) return batch;

  const std::int64_t inner = scores.numel() / (scores.dim(0) * batch.classes);  // items per element of the batch
  const auto best = argtopk(scores.detach(), top, 1).data().to_vector<std::int64_t>();
  batch.predicted.assign(static_cast<std::size_t>(scores.numel()), 0);
  for (std::int64_t i = 0; i < std::ssize(best); ++i) {
    const std::int64_t item = i / (top * inner) * inner + i % inner;
    batch.predicted[static_cast<std::size_t>(item * batch.classes + best[static_cast<std::size_t>(i)])] = 1;
  }
  if (!exclusive) batch.actual = labels;
  else
    for (const std::int64_t label : labels)
      for (std::int64_t each = 0; each < batch.classes; ++each) batch.actual.push_back(label < 0 ? -1 : each == label);
  return batch;
}

}  // namespace

void require_one_class(std::string_view name, const LabelOptions& options) {
  require<ArgumentError>(!options.top, name, ": the ", options.top.value_or(0),
                         " largest scores are several classes of an item, and it needs one");
}

LabelBatch label_batch(std::string_view name, const Value& scores, const Value& targets, const LabelOptions& options) {
  require<ArgumentError>(std::isfinite(options.threshold), name, ": threshold is ", options.threshold,
                         ", which no score is above, or all are");
  if (options.top) return largest(name, scores, targets, options);
  LabelBatch batch;
  batch.exclusive = is_exclusive(name, scores, targets);
  if (batch.exclusive) {
    batch.classes = scores.dim(1);
    batch.actual = checked_targets(name, targets, batch.classes, options.ignore);
    if (!batch.actual.empty()) batch.predicted = argmax(scores.detach(), 1).data().to_vector<std::int64_t>();
  } else {
    batch.classes = scores.rank() == 1 ? 1 : scores.dim(1);
    batch.actual = checked_targets(name, targets, 2, options.ignore);
    for (const double score : scores.data().to_vector<double>()) batch.predicted.push_back(score > options.threshold);
  }
  return batch;
}

}  // namespace kiln::metric
