// Metrics of searches: whether what was looked for comes first. A row is a query, a column something that may be found.
#pragma once
#include <optional>

#include "kiln/tensor/tensor.hpp"
#include "kiln/train/metric/metric.hpp"

namespace kiln::metric {

/// The mean over queries of the normalised discounted cumulative gain (Järvelin, Kekäläinen, "Cumulated gain-based evaluation of
/// IR techniques", 2002): gains divided by log2(1 + place), as a share of what the best order has. Of equal scores each has
/// the mean of their places; a query for which nothing is worth anything counts as 0. As scikit-learn's.
struct Ndcg {
  std::optional<std::int64_t> k{};  // places that count; otherwise all
  Total sum{}, count{};

  /// scores, gains [queries, found], where gains are not negative. Throws ShapeError, DataError, ArgumentError for a k below 1.
  template <class K>
  void update(const Tensor<2>& scores, const Tensor<2, K>& gains) {
    add(scores.value(), gains.value());
  }
  double value() const { return mean("ndcg", sum, count); }
  void add(const Value& scores, const Value& gains);
};

/// The mean over queries of 1 / the place of the first that is right; 0 where none is. Of equal scores the one that comes first
/// counts as larger.
struct ReciprocalRank {
  Total sum{}, count{};

  /// scores [queries, found], right [queries, found] of 0 and 1. Throws ShapeError, DataError.
  template <class K>
  void update(const Tensor<2>& scores, const Tensor<2, K>& right) {
    add(scores.value(), right.value());
  }
  double value() const { return mean("reciprocal rank", sum, count); }
  void add(const Value& scores, const Value& right);
};

}  // namespace kiln::metric
