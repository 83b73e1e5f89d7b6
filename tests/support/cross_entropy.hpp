// The mean cross entropy as in a textbook, in doubles: what a model's loss must be, whatever the model has learned.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

namespace kiln::test {

/// logits [targets, classes] in row-major order.
inline double mean_cross_entropy(const std::vector<float>& logits, const std::vector<std::int64_t>& targets) {
  const std::size_t classes = logits.size() / targets.size();
  double total = 0;
  for (std::size_t row = 0; row < targets.size(); ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < classes; ++i) sum += std::exp(static_cast<double>(logits[row * classes + i]));
    total += std::log(sum) - static_cast<double>(logits[row * classes + static_cast<std::size_t>(targets[row])]);
  }
  return total / static_cast<double>(targets.size());
}

}  // namespace kiln::test
