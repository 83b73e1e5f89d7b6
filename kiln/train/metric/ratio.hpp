// Metrics computed from counts per class: how often it was predicted, how often it was true, and how often both. Each
// is a row: a function of the counts of one class.
#pragma once
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/train/figure/figure.hpp"
#include "kiln/train/metric/labels.hpp"
#include "kiln/train/metric/metric.hpp"

namespace kiln::metric {

struct ClassCounts {
  double hits = 0, predicted = 0, actual = 0, all = 0;
};

/// a / b, or 0 for 0 / 0, as in scikit-learn.
inline double share(double a, double b) { return b > 0 ? a / b : 0; }

namespace ratio {

struct Precision {
  static constexpr std::string_view kName = "precision";
  double operator()(const ClassCounts& c) const { return share(c.hits, c.predicted); }
};
struct Recall {
  static constexpr std::string_view kName = "recall";
  double operator()(const ClassCounts& c) const { return share(c.hits, c.actual); }
};
struct Specificity {
  static constexpr std::string_view kName = "specificity";
  double operator()(const ClassCounts& c) const {
    return share(c.all - c.actual - c.predicted + c.hits, c.all - c.actual);
  }
};
/// The harmonic mean of precision and recall, with recall weighted by beta^2 (van Rijsbergen 1979).
struct FBeta {
  static constexpr std::string_view kName = "f_beta";
  double beta = 1;
  double operator()(const ClassCounts& c) const {
    require<ArgumentError>(beta >= 0 && beta <= std::numeric_limits<double>::max(), "f_beta: beta is ", beta,
                           ", it must be finite and not negative");
    const double weight = beta * beta;
    return share((1 + weight) * c.hits, weight * c.actual + c.predicted);
  }
};
/// Intersection over union, or Jaccard's index.
struct Iou {
  static constexpr std::string_view kName = "iou";
  double operator()(const ClassCounts& c) const { return share(c.hits, c.actual + c.predicted - c.hits); }
};
struct Dice {
  static constexpr std::string_view kName = "dice";
  double operator()(const ClassCounts& c) const { return share(2 * c.hits, c.actual + c.predicted); }
};

}  // namespace ratio

enum class Average {
  Macro,     // the mean over classes that were predicted or true at least once
  Micro,     // over the summed counts of all classes
  Weighted,  // the mean over classes, weighted by how often each was true
};

/// The counts of all classes.
struct LabelCounts {
  Totals hits{}, predicted{}, actual{};
  Total all{};  // items

  void add(std::string_view name, const Value& scores, const Value& targets, const LabelOptions& options);
  std::int64_t classes() const;
  ClassCounts of(std::int64_t label) const;
  double average(std::string_view name, Average average, FunctionRef<double(const ClassCounts&)> ratio) const;
};

/// Binary classification has one class, the positive one. If nothing was measured value() throws ArgumentError.
template <class Ratio>
struct RatioMetric {
  static constexpr std::string_view kName = Ratio::kName;
  Average average = Average::Macro;
  Ratio ratio{};
  LabelOptions options{};
  LabelCounts counts{};

  /// Throws ShapeError, DataError.
  template <int S, int T, class K>
  requires LabelRanks<S, T> void update(const Tensor<S>& scores, const Tensor<T, K>& targets) {
    counts.add(kName, scores.value(), targets.value(), options);
  }
  double value() const { return counts.average(kName, average, ratio); }
  /// The ratio of a single class.
  double of(std::int64_t label) const { return ratio(counts.of(label)); }
};

using Precision = RatioMetric<ratio::Precision>;
using Recall = RatioMetric<ratio::Recall>;  // its macro average is also called balanced accuracy
using Specificity = RatioMetric<ratio::Specificity>;
using FBeta = RatioMetric<ratio::FBeta>;
using Iou = RatioMetric<ratio::Iou>;
using Dice = RatioMetric<ratio::Dice>;

/// Agreement of prediction and truth beyond chance, from -1 to 1: functions of the counts of all classes.
namespace agreement {

/// Cohen, "A coefficient of agreement for nominal scales", 1960.
struct CohenKappa {
  static constexpr std::string_view kName = "cohen_kappa";
  double operator()(const LabelCounts& counts) const;
};
/// Matthews 1975; for several classes Gorodkin, "Comparing two K-category assignments by a K-category correlation
/// coefficient", 2004.
struct MatthewsCorrelation {
  static constexpr std::string_view kName = "matthews_correlation";
  double operator()(const LabelCounts& counts) const;
};

}  // namespace agreement

/// The agreement in one class of several; binary classification has two.
template <class Agreement>
struct AgreementMetric {
  static constexpr std::string_view kName = Agreement::kName;
  LabelOptions options{};
  LabelCounts counts{};

  /// scores [batch, classes, ...], targets [batch, ...]. Throws ShapeError, DataError.
  template <int S, class K>
  requires(S >= 2) void update(const Tensor<S>& scores, const Tensor<S - 1, K>& targets) {
    require_one_class(kName, options);
    counts.add(kName, scores.value(), targets.value(), options);
  }
  double value() const {
    mean(kName, 0, counts.all);
    return Agreement{}(counts);
  }
};

using CohenKappa = AgreementMetric<agreement::CohenKappa>;
using MatthewsCorrelation = AgreementMetric<agreement::MatthewsCorrelation>;

/// The names of classes, for those who look at a metric; checkpoints do not keep them.
class ClassNames {
 public:
  static constexpr bool kHoldsNoTensors = true;
  ClassNames() = default;
  ClassNames(std::initializer_list<std::string> names) : names_(names) {}
  ClassNames(std::vector<std::string> names) : names_(std::move(names)) {}
  const std::vector<std::string>& list() const { return names_; }

 private:
  std::vector<std::string> names_;
};

/// How often each class (row) was predicted as each (column). Logs and displays show the matrix beside its value.
struct ConfusionMatrix {
  std::int64_t classes;
  LabelOptions options{};
  Totals cells{};  // [classes, classes]
  ClassNames names{};

  template <int S, class K>
  requires(S >= 2) void update(const Tensor<S>& scores, const Tensor<S - 1, K>& targets) {
    add(scores.value(), targets.value());
  }
  void add(const Value& scores, const Value& targets);
  double of(std::int64_t actual, std::int64_t predicted) const { return cells.at(actual * classes + predicted); }
  /// The fraction on the diagonal.
  double value() const;
  Matrix matrix() const;
  /// A table, with `others` as the names of the classes, or its own names, or numbers. Throws ArgumentError where there
  /// are names, but not one for each class.
  std::string table(std::span<const std::string> others = {}) const;
};

}  // namespace kiln::metric
