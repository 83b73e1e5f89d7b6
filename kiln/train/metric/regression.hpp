// Errors of predicted numbers: predictions and targets of the same shape, [batch] or [batch, outputs].
#pragma once
#include "kiln/tensor/tensor.hpp"
#include "kiln/train/metric/metric.hpp"
#include "kiln/train/output.hpp"

namespace kiln::metric {

/// The mean of measured values, weighted by a count: for a loss that is the mean of its batch, the items. The mean of
/// no items is NaN, and is ignored.
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

/// e to the mean loss per token. From a step's output it uses the loss, and its items as the tokens.
struct Perplexity {
  Total sum{}, count{};

  /// The mean of -log p over `tokens` tokens.
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

/// The mean over all elements of a function of prediction and target, and a function of that mean. Each is a row.
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
/// Relative to the target's absolute value, which is taken as at least 2^-52.
struct AbsolutePercentage {
  static constexpr std::string_view kName = "mean_absolute_percentage_error";
  static double of(double prediction, double target);
};

}  // namespace deviation

using ElementDeviation = double (*)(double prediction, double target);
/// Throws ShapeError if their shapes differ.
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

/// The coefficient of determination: 1 for perfect predictions, 0 for those no better than the mean of the targets. The
/// mean over several outputs. If targets do not vary: 1 if they were predicted exactly, otherwise 0.
struct R2 {
  static constexpr std::string_view kName = "r2";
  Moments targets{};
  Totals off{};  // sums of squared errors

  void update(const Tensor<1>& predictions, const Tensor<1>& truth) { add(predictions.value(), truth.value()); }
  void update(const Tensor<2>& predictions, const Tensor<2>& truth) { add(predictions.value(), truth.value()); }
  void add(const Value& predictions, const Value& truth);
  /// Throws ArgumentError for fewer than two items.
  double value() const;
};

}  // namespace kiln::metric
