// How far numbers are from what they should be: predictions and targets of the same shape, [batch] or [batch, outputs].
#pragma once
#include "kiln/tensor/tensor.hpp"
#include "kiln/train/metric/metric.hpp"
#include "kiln/train/output.hpp"

namespace kiln::metric {

/// The mean of what was measured, weighted by how much it was measured of: of a loss that is the mean of its batch, by
/// the items. The mean of no items is no number, and does not count.
struct Mean {
  static constexpr std::string_view kName = "mean";
  Total sum{}, count{};

  void update(double mean, double items = 1) {
    if (items == 0) return;
    sum += mean * items;
    count += items;
  }
  double value() const { return metric::mean("mean", sum, count); }
};

/// e to the mean loss of a token. Fed with a step's output it takes its loss for that, and its items for the tokens.
struct Perplexity {
  Total sum{}, count{};

  /// The mean of -log p over so many tokens.
  void update(double loss, double tokens) {
    if (tokens == 0) return;
    sum += loss * tokens;
    count += tokens;
  }
  template <class Output>
  requires requires(const Output& output) { output.loss; } void update(const Output& output) {
    update(output.loss.template item<double>(), static_cast<double>(items_of(output)));
  }
  double value() const;
};

/// The mean of a function of prediction and target over all elements, and a function of that. Each is a row.
namespace deviation {

struct Absolute {
  static constexpr std::string_view kName = "mean_absolute_error";
  static double of(double prediction, double target);
};
struct Squared {
  static constexpr std::string_view kName = "mean_squared_error";
  static double of(double prediction, double target);
};
struct RootSquared {
  static constexpr std::string_view kName = "root_mean_squared_error";
  static double of(double prediction, double target);
  static double from_mean(double mean);
};
/// As a share of the target's size, which counts as 2^-52 where it is smaller.
struct AbsolutePercentage {
  static constexpr std::string_view kName = "mean_absolute_percentage_error";
  static double of(double prediction, double target);
};

}  // namespace deviation

using ElementDeviation = double (*)(double prediction, double target);
/// Throws ShapeError where they differ in shape.
void add_deviations(std::string_view name, const Value& predictions, const Value& targets, ElementDeviation of,
                    Total& sum, Total& count);

template <class Deviation>
struct DeviationMetric {
  static constexpr std::string_view kName = Deviation::kName;
  Total sum{}, count{};

  template <int D>
  void update(const Tensor<D>& predictions, const Tensor<D>& targets) {
    add_deviations(kName, predictions.value(), targets.value(), &Deviation::of, sum, count);
  }
  double value() const {
    const double mean = metric::mean(kName, sum, count);
    if constexpr (requires { Deviation::from_mean(mean); }) return Deviation::from_mean(mean);
    else return mean;
  }
};

using MeanAbsoluteError = DeviationMetric<deviation::Absolute>;
using MeanSquaredError = DeviationMetric<deviation::Squared>;
using RootMeanSquaredError = DeviationMetric<deviation::RootSquared>;
using MeanAbsolutePercentageError = DeviationMetric<deviation::AbsolutePercentage>;

/// The coefficient of determination: 1 where all is predicted, 0 where no more than the mean of the targets is. Of several
/// outputs their mean. Where targets do not vary: 1 if they were met, otherwise 0.
struct R2 {
  static constexpr std::string_view kName = "r2";
  Moments targets{};
  Totals off{};  // sums of squares

  void update(const Tensor<1>& predictions, const Tensor<1>& truth) { add(predictions.value(), truth.value()); }
  void update(const Tensor<2>& predictions, const Tensor<2>& truth) { add(predictions.value(), truth.value()); }
  void add(const Value& predictions, const Value& truth);
  /// Throws ArgumentError for fewer than two items.
  double value() const;
};

}  // namespace kiln::metric
