// Ranking metrics: do positives have larger scores than negatives, at any threshold? They keep all scores.
#pragma once
#include <vector>

#include "kiln/train/metric/ratio.hpp"

namespace kiln::metric {

/// The scores of all items, and the true labels; a state.
struct RankedScores {
  std::int64_t columns = 0;  // classes or labels; 0 while there are none
  bool exclusive = false;
  std::vector<float> scores{};         // [items, columns]
  std::vector<std::int32_t> labels{};  // a class per item, or [items, columns] of 0 and 1

  void add(std::string_view name, const Value& scores, const Value& targets);
  void merge(const RankedScores& other);

  /// Calls of(ranked) for each class against the others, and averages. `ranked` are scores as unsigned numbers in the
  /// same order, ascending, shifted left by one bit, which says whether the item is of the class.
  double average(std::string_view name, Average average, double (*of)(const std::vector<std::uint64_t>& ranked)) const;
};

/// The area under the curve of true against false positives: the probability that a positive item has a larger score
/// than a negative one; equal scores count half. With several classes, each is taken against the rest. value() throws
/// ArgumentError if a class has no items, or all.
struct Auroc {
  Average average = Average::Macro;
  RankedScores samples{};

  /// Scores must not be NaN. Throws ShapeError, DataError.
  template <int S, int T, class K>
  requires(LabelRanks<S, T> && S <= 2) void update(const Tensor<S>& scores, const Tensor<T, K>& targets) {
    samples.add("auroc", scores.value(), targets.value());
  }
  double value() const;
};

/// The area under the curve of precision against recall as a sum of rectangles, as in scikit-learn: the precision at
/// each threshold, weighted by the increase of recall. value() throws ArgumentError if a class has no items.
struct AveragePrecision {
  Average average = Average::Macro;
  RankedScores samples{};

  template <int S, int T, class K>
  requires(LabelRanks<S, T> && S <= 2) void update(const Tensor<S>& scores, const Tensor<T, K>& targets) {
    samples.add("average precision", scores.value(), targets.value());
  }
  double value() const;
};

/// Expected calibration error (Naeini, Cooper, Hauskrecht, "Obtaining well calibrated probabilities using Bayesian
/// binning", 2015): the difference between predicted probabilities and accuracy, over `bins` of equal width.
struct CalibrationError {
  std::int64_t bins = 15;
  Totals counts{}, confidences{}, hits{};  // per bin

  /// probabilities [batch, classes], targets [batch]. Throws ShapeError, and DataError if one is outside [0, 1].
  template <class K>
  void update(const Tensor<2>& probabilities, const Tensor<1, K>& targets) {
    add(probabilities.value(), targets.value());
  }
  void add(const Value& probabilities, const Value& targets);
  double value() const;
};

}  // namespace kiln::metric
