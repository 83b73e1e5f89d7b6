// Metrics of retrieval: do relevant results come first? A row is a query, a column a possible result.
#pragma once
#include <optional>

#include "kiln/tensor/tensor.hpp"
#include "kiln/train/metric/metric.hpp"

namespace kiln::metric {

/// The mean over queries of the normalised discounted cumulative gain (Järvelin, Kekäläinen, "Cumulated gain-based
/// evaluation of IR techniques", 2002): gains divided by log2(1 + place), relative to the best order. Equal scores
/// share the mean of their places; a query without any gain counts as 0. As in scikit-learn.
struct Ndcg {
  std::optional<std::int64_t> k{};  // places that count; default: all
  Total sum{}, count{};

  /// scores, gains [queries, results], with gains >= 0. Throws ShapeError, DataError, and ArgumentError for a k below
  /// 1.
  template <class K>
  void update(const Tensor<2>& scores, const Tensor<2, K>& gains) {
    add(scores.value(), gains.value());
  }
  double value() const { return mean("ndcg", sum, count); }
  void add(const Value& scores, const Value& gains);
};

/// The mean over queries of 1 / the place of the first relevant result; 0 if there is none. Of equal scores the first
/// counts as larger.
struct ReciprocalRank {
  Total sum{}, count{};

  /// scores [queries, results], right [queries, results] of 0 and 1. Throws ShapeError, DataError.
  template <class K>
  void update(const Tensor<2>& scores, const Tensor<2, K>& right) {
    add(scores.value(), right.value());
  }
  double value() const { return mean("reciprocal rank", sum, count); }
  void add(const Value& scores, const Value& right);
};

}  // namespace kiln::metric
