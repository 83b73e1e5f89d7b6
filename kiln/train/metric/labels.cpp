#include "kiln/train/metric/labels.hpp"

#include <algorithm>

#include "kiln/ops/functions.hpp"

namespace kiln::metric {

bool is_exclusive(std::string_view name, const Value& scores, const Value& targets) {
  const Shape &s = scores.shape(), &t = targets.shape();
  if (s.size() == t.size() + 1 && s.size() >= 2) {
    Shape without = s;
    without.erase(1);
    if (without == t) return true;
  } else if (s == t && s.size() >= 1 && s.size() <= 2) {
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

LabelBatch label_batch(std::string_view name, const Value& scores, const Value& targets, const LabelOptions& options) {
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
