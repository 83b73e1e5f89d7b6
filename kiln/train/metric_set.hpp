// The metrics of one data set, by name, fed with the outputs of a step.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kiln/core/reflect/signature.hpp"
#include "kiln/train/events.hpp"
#include "kiln/train/metric/accuracy.hpp"
#include "kiln/train/metric/machine.hpp"
#include "kiln/train/metric/metric.hpp"
#include "kiln/train/metric/ratio.hpp"
#include "kiln/train/metric/regression.hpp"
#include "kiln/train/output.hpp"
#include "kiln/train/recorded.hpp"

namespace kiln {

namespace metric {

template <class M, class Output>
concept TakesOutput = requires(M& metric, const Output& output) { metric.update(output); };
template <class M, class Output>
concept TakesScores = requires(M& metric, const Output& output) { metric.update(output.scores, output.targets); };
template <class M, class Output>
concept TakesPredictions =
    requires(M& metric, const Output& output) { metric.update(output.predictions, output.targets); };
/// feed() can give an output to a metric.
template <class M, class Output>
concept Takes = TakesOutput<M, Output> || TakesScores<M, Output> || TakesPredictions<M, Output>;

/// Feeds an output to a metric: the whole output, or its scores or predictions and targets.
template <class M, class Output>
void feed(M& metric, const Output& output) {
  static_assert(Takes<M, Output>, "this metric does not take such outputs: say how, by a function (metric, output)");
  if constexpr (TakesOutput<M, Output>) metric.update(output);
  else if constexpr (TakesScores<M, Output>) metric.update(output.scores, output.targets);
  else if constexpr (TakesPredictions<M, Output>) metric.update(output.predictions, output.targets);
}

}  // namespace metric

/// The operations on a metric of any type.
struct MetricType {
  void (*measure)(const void* metric, Reading& reading);  // throws what the metric's value() throws
  bool is_text;
  void (*clear)(void* metric);
  std::shared_ptr<void> (*fresh)(const void* metric);  // another one with the same options and empty states
  void (*begin)(void* metric);
  void (*record)(void* metric, RecordedObjects& objects, const std::string& path);
  /// Merges the states of a metric of other data, which are stored under `path`.
  void (*merge)(void* metric, const TensorSource& others, const std::string& path);
};
/// The functions of the usual metrics are compiled once, in metric_set.cpp.
template <class M>
const MetricType& metric_type() {
  static constexpr MetricType type{
      [](const void* metric, Reading& reading) {
        if constexpr (TextMetric<M>) reading.words = static_cast<const M*>(metric)->value();
        else reading.value = static_cast<double>(static_cast<const M*>(metric)->value());
        if constexpr (requires(const M& m) { Matrix(m.matrix()); })
          reading.matrix = static_cast<const M*>(metric)->matrix();
      },
      TextMetric<M>,
      [](void* metric) { *static_cast<M*>(metric) = metric::fresh(std::move(*static_cast<M*>(metric))); },
      [](const void* metric) -> std::shared_ptr<void> {
        return std::make_shared<M>(metric::fresh(*static_cast<const M*>(metric)));
      },
      [](void* metric) {
        if constexpr (requires(M& m) { m.begin(); }) static_cast<M*>(metric)->begin();
      },
      [](void* metric, RecordedObjects& objects, const std::string& path) {
        objects.add(path, *static_cast<M*>(metric));
      },
      [](void* metric, const TensorSource& others, const std::string& path) {
        M other = metric::fresh(*static_cast<M*>(metric));
        RecordedObjects objects;
        objects.add(path, other);
        objects.restore(others, "metrics", {.allow_unexpected = true});
        metric::merge(*static_cast<M*>(metric), other);
      }};
  return type;
}
extern template const MetricType& metric_type<metric::Accuracy>();
extern template const MetricType& metric_type<metric::CpuMemory>();
extern template const MetricType& metric_type<metric::CpuUse>();
extern template const MetricType& metric_type<metric::FBeta>();
extern template const MetricType& metric_type<metric::ItemsPerSecond>();
extern template const MetricType& metric_type<metric::Mean>();
extern template const MetricType& metric_type<metric::MeanAbsoluteError>();
extern template const MetricType& metric_type<metric::R2>();
extern template const MetricType& metric_type<metric::RootMeanSquaredError>();

/// The part of a MetricSet that is independent of the type of outputs.
class MetricList {
 public:
  std::vector<std::string> names() const;
  /// Whether there is nothing to measure but the loss.
  bool empty() const { return entries_.empty(); }
  /// Whether outputs may be copies on another device than the model's.
  bool take_copies() const;
  /// The names of the metrics whose values are words.
  std::vector<std::string> text_names() const;
  /// Copies of the metrics, which have measured nothing and share no state with these.
  MetricList fresh() const;
  /// Resets all metrics.
  void clear();
  /// Measurement begins: starts the clocks.
  void begin();
  /// The loss, and each metric. An error of a metric becomes the problem of its reading.
  std::vector<Reading> readings() const;
  /// Adds an output, its loss, and its number of items.
  void update(const void* output, double loss, std::int64_t items);
  /// Adds the states to a checkpoint under `path`.
  void record(RecordedObjects& objects, const std::string& path);
  /// The states of all metrics, and merging those of metrics of other data.
  TensorSource snapshot();
  void merge(const TensorSource& others);

  /// `feed` calls the metric's update with the values that it needs from an output. Throws ArgumentError if the name is
  /// taken.
  template <class Output, Metric M, class F>
  void add(M metric, const std::string& name, F feed) {
    static_assert(metric::kHasState<M>, "a metric without states: what adds up is a metric::Total, Totals, ...");
    // One that holds no tensor, and is fed by a function that holds none, asks nothing of where its operands are.
    add(NamedMetric{name, &metric_type<M>(), std::make_shared<M>(std::move(metric)),
                    Plain<M> && (std::is_empty_v<F> || std::is_pointer_v<F>),
                    [feed = std::move(feed)](void* held, const void* output) {
                      feed(*static_cast<M*>(held), *static_cast<const Output*>(output));
                    }});
  }

 private:
  struct NamedMetric {
    std::string name;
    const MetricType* type;
    std::shared_ptr<void> metric;
    bool takes_copies;
    std::function<void(void* metric, const void* output)> feed;
  };
  void add(NamedMetric entry);

  metric::Mean loss_;
  std::vector<NamedMetric> entries_;
};

template <class Output>
class MetricSet : public MetricList {
 public:
  template <Metric M, class F>
  void add(M metric, const std::string& name, F feed) {
    MetricList::add<Output>(std::move(metric), name, std::move(feed));
  }
  void update(const Output& output, double loss) { MetricList::update(&output, loss, items_of(output)); }
};

}  // namespace kiln
