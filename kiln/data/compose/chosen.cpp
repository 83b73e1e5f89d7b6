#include "kiln/data/compose/chosen.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kiln {

std::vector<std::int64_t> sample_indices(std::int64_t items, std::int64_t count, bool replacement, Key key) {
  require<ArgumentError>(count >= 0, "sampled: ", count, " items cannot be sampled");
  require<ArgumentError>(replacement ? items > 0 || count == 0 : count <= items, "sampled: ", count,
                         " items cannot be sampled from ", items, replacement ? "" : " without replacement");
  if (!replacement) {
    std::vector<std::int64_t> order = permutation(items, key);
    order.resize(static_cast<std::size_t>(count));
    return order;
  }
  Random random(key);
  std::vector<std::int64_t> drawn(static_cast<std::size_t>(count));
  for (auto& index : drawn) index = random.below(items);
  return drawn;
}

std::vector<std::int64_t> sample_weighted(std::span<const double> weights, std::int64_t count, Key key) {
  require<ArgumentError>(count >= 0, "weighted: ", count, " items cannot be sampled");
  for (std::size_t i = 0; i < weights.size(); ++i)
    require<ArgumentError>(std::isfinite(weights[i]) && weights[i] >= 0, "weighted: weight ", i, " is ", weights[i],
                           ", it must be 0 or more");
  std::vector<double> sums(weights.size());
  std::partial_sum(weights.begin(), weights.end(), sums.begin());
  require<ArgumentError>(!sums.empty() && sums.back() > 0 && std::isfinite(sums.back()),
                         "weighted: the weights add up to ", sums.empty() ? 0.0 : sums.back());
  Random random(key);
  std::vector<std::int64_t> drawn(static_cast<std::size_t>(count));
  for (auto& index : drawn) {
    // The first sum beyond the point, so never an item of weight 0. Rounding may move the point to the last sum.
    const double point = std::min(random.uniform() * sums.back(), std::nextafter(sums.back(), 0.0));
    index = std::ranges::upper_bound(sums, point) - sums.begin();
  }
  return drawn;
}

}  // namespace kiln
