#include "kiln/train/metric/retrieval.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kiln::metric {
namespace {

struct Query {
  std::vector<double> scores, gains;
};

/// Calls use(query) for each row.
template <class Use>
void for_each_query(std::string_view name, const Value& scores, const Value& gains, Use use) {
  require<ShapeError>(scores.shape() == gains.shape(), name, ": scores ", scores.shape(), " and relevances ",
                      gains.shape(), " differ");
  const auto all = scores.data().to_vector<double>(), worth = gains.data().to_vector<double>();
  for (const double score : all) require<DataError>(!std::isnan(score), name, ": a score is not a number");
  for (const double gain : worth)
    require<DataError>(gain >= 0 && std::isfinite(gain), name, ": something is worth ", gain);
  const auto columns = static_cast<std::ptrdiff_t>(scores.dim(1));
  for (std::ptrdiff_t row = 0; row < scores.dim(0); ++row)
    use(Query{{all.begin() + row * columns, all.begin() + (row + 1) * columns},
              {worth.begin() + row * columns, worth.begin() + (row + 1) * columns}});
}

/// Indices in the order of falling scores; equal ones keep their order.
std::vector<std::size_t> places(const std::vector<double>& scores) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  return order;
}

/// The sum of the gains of the first `most` places, each divided by log2(1 + place).
double discounted(const Query& query, std::int64_t most) {
  const auto order = places(query.scores);
  double sum = 0;
  for (std::size_t first = 0, end; first < order.size(); first = end) {
    double gain = 0, discount = 0;  // over all with this score
    for (end = first; end < order.size() && query.scores[order[end]] == query.scores[order[first]]; ++end) {
      gain += query.gains[order[end]];
      if (static_cast<std::int64_t>(end) < most) discount += 1 / std::log2(static_cast<double>(end) + 2);
    }
    sum += gain / static_cast<double>(end - first) * discount;
  }
  return sum;
}

}  // namespace

void Ndcg::add(const Value& scores, const Value& gains) {
  require<ArgumentError>(!k || *k >= 1, "ndcg: k is ", k.value_or(0), ", it must be at least 1");
  for_each_query("ndcg", scores, gains, [&](const Query& query) {
    const std::int64_t most = k.value_or(std::ssize(query.gains));
    const double best = discounted({query.gains, query.gains}, most);
    sum += best > 0 ? discounted(query, most) / best : 0;
    count += 1;
  });
}

void ReciprocalRank::add(const Value& scores, const Value& right) {
  for_each_query("reciprocal rank", scores, right, [&](const Query& query) {
    const auto order = places(query.scores);
    const auto found = std::ranges::find_if(order, [&](std::size_t i) { return query.gains[i] > 0; });
    if (found != order.end()) sum += 1.0 / static_cast<double>(found - order.begin() + 1);
    count += 1;
  });
}

}  // namespace kiln::metric
