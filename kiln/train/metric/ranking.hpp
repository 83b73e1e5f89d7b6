// Metrics of an order: whether what is right has larger scores than what is not, whatever the threshold. They keep all
// scores.
#pragma once
#include <vector>

#include "kiln/train/metric/ratio.hpp"

namespace kiln::metric {

/// All scores of all items and what was right; a state.
struct RankedScores {
  std::int64_t columns = 0;  // classes or labels; 0 as long as there are none
  bool exclusive = false;
  std::vector<float> scores{};         // [items, columns]
  std::vector<std::int32_t> labels{};  // a class an item, or [items, columns] of 0 and 1

  void add(std::string_view name, const Value& scores, const Value& targets);
  void merge(const RankedScores& other);

  /// Calls of(ranked) for each class against all others, and averages. `ranked` are scores as unsigned numbers in the
  /// same order, ascending, shifted by one bit, which says whether the item is of the class.
  double average(std::string_view name, Average average, double (*of)(const std::vector<std::uint64_t>& ranked)) const;
};

/// The area under the curve of true against false positives: how probable it is that of two items, one of the class and
/// one that is not, the first has the larger score; equal ones count half. Of classes, each against the rest.
/// value() throws ArgumentError where a class is that of no item or of all.
struct Auroc {
  Average average = Average::Macro;
  RankedScores samples{};

  /// Scores are numbers. Throws ShapeError, DataError.
  template <int S, int T, class K>
  requires(LabelRanks<S, T> && S <= 2) void update(const Tensor<S>& scores, const Tensor<T, K>& targets) {
    samples.add("auroc", scores.value(), targets.value());
  }
  double value() const;
};

/// The area under the curve of precision against recall as a sum of rectangles, as scikit-learn has it: the precision at
/// each threshold, weighted by the recall that it adds. value() throws ArgumentError where a class is that of no item.
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
/// binning", 2015): how far probabilities are from the shares of what is right, over `bins` of equal width.
struct CalibrationError {
  std::int64_t bins = 15;
  Totals counts{}, confidences{}, hits{};  // of each bin

  /// probabilities [batch, classes], targets [batch]. Throws ShapeError, DataError where one is outside [0, 1].
  template <class K>
  void update(const Tensor<2>& probabilities, const Tensor<1, K>& targets) {
    add(probabilities.value(), targets.value());
  }
  void add(const Value& probabilities, const Value& targets);
  double value() const;
};

}  // namespace kiln::metric
