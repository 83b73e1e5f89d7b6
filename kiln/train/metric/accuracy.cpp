#include "kiln/train/metric/accuracy.hpp"

#include <algorithm>

#include "kiln/ops/reduce/order.hpp"

namespace kiln::metric {

void Accuracy::add(const Value& scores, const Value& targets) {
  if (is_exclusive("accuracy", scores, targets)) require_one_class("accuracy", options);
  const LabelBatch batch = label_batch("accuracy", scores, targets, options);
  const std::int64_t each = batch.exclusive ? 1 : batch.classes;  // labels per item
  for (std::int64_t item = 0; item < batch.size(); item += each) {
    bool counts = false, all_right = true;
    for (auto i = static_cast<std::size_t>(item); i < static_cast<std::size_t>(item + each); ++i) {
      counts = counts || batch.actual[i] >= 0;
      all_right = all_right && (batch.actual[i] < 0 || batch.actual[i] == batch.predicted[i]);
    }
    count += counts;
    right += counts && all_right;
  }
}

void TopKAccuracy::add(const Value& scores, const Value& targets) {
  is_exclusive("top-k accuracy", scores, targets);
  const std::int64_t classes = scores.dim(1);
  require<ArgumentError>(k >= 1 && k <= classes, "top-k accuracy: k = ", k, " of ", classes, " classes");
  const auto actual = checked_targets("top-k accuracy", targets, classes, options.ignore);
  if (actual.empty()) return;
  const auto best = argtopk(scores.detach(), k, 1).data().to_vector<std::int64_t>();
  for (std::size_t item = 0; item < actual.size(); ++item) {
    if (actual[item] < 0) continue;
    count += 1;
    const auto first = best.begin() + static_cast<std::ptrdiff_t>(item) * k;
    right += std::find(first, first + k, actual[item]) != first + k;
  }
}

void HammingScore::add(const Value& scores, const Value& targets) {
  const LabelBatch batch = label_batch("hamming score", scores, targets, options);
  for (std::size_t i = 0; i < batch.actual.size(); ++i) {
    count += batch.actual[i] >= 0;
    right += batch.actual[i] >= 0 && batch.actual[i] == batch.predicted[i];
  }
}

}  // namespace kiln::metric
