// How many items are classified correctly.
#pragma once
#include "kiln/train/metric/labels.hpp"
#include "kiln/train/metric/metric.hpp"

namespace kiln::metric {

/// The fraction of items whose class is predicted correctly (for the k largest: TopKAccuracy); with several labels, of
/// items all of whose labels are.
struct Accuracy {
  LabelOptions options{};
  Total right{}, count{};

  /// Throws ShapeError, DataError.
  template <int S, int T, class K>
  requires LabelRanks<S, T> void update(const Tensor<S>& scores, const Tensor<T, K>& targets) {
    add(scores.value(), targets.value());
  }
  double value() const { return mean("accuracy", right, count); }
  void add(const Value& scores, const Value& targets);
};

/// The fraction of items whose true class is among those of the `k` largest scores. Of equal scores the first class
/// counts as larger.
struct TopKAccuracy {
  std::int64_t k = 5;
  LabelOptions options{};
  Total right{}, count{};

  /// scores [batch, classes], targets [batch]. Throws ShapeError, DataError, and ArgumentError for less than k classes.
  template <class K>
  void update(const Tensor<2>& scores, const Tensor<1, K>& targets) {
    add(scores.value(), targets.value());
  }
  double value() const { return mean("top-k accuracy", right, count); }
  void add(const Value& scores, const Value& targets);
};

/// The fraction of correct labels over all labels of all items: 1 - the Hamming loss.
struct HammingScore {
  LabelOptions options{};
  Total right{}, count{};

  template <int S, int T, class K>
  requires LabelRanks<S, T> void update(const Tensor<S>& scores, const Tensor<T, K>& targets) {
    add(scores.value(), targets.value());
  }
  double value() const { return mean("hamming score", right, count); }
  void add(const Value& scores, const Value& targets);
};

}  // namespace kiln::metric
