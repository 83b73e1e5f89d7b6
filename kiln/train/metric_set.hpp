// The metrics of one set of data, by name, fed from the outputs of a step.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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

/// Feeds an output to a metric: all of it, or its scores or predictions and targets.
template <class M, class Output>
void feed(M& metric, const Output& output) {
  if constexpr (requires { metric.update(output); }) metric.update(output);
  else if constexpr (requires { metric.update(output.scores, output.targets); })
    metric.update(output.scores, output.targets);
  else if constexpr (requires { metric.update(output.predictions, output.targets); })
    metric.update(output.predictions, output.targets);
  else
    static_assert(std::is_void_v<M>, "this metric does not take such outputs: say how, by a function (metric, output)");
}

}  // namespace metric

/// What can be done with a metric, whatever its type.
struct MetricType {
  double (*value)(const void* metric);
  void (*clear)(void* metric);
  void (*begin)(void* metric);
  void (*record)(void* metric, RecordedObjects& objects, const std::string& path);
  /// Adds what such a metric of other data, stored under `path`, has seen.
  void (*merge)(void* metric, const TensorSource& others, const std::string& path);
};
/// No inline function: those of the usual metrics are compiled once, in metric_set.cpp.
template <class M>
const MetricType& metric_type() {
  static constexpr MetricType type{
      [](const void* metric) { return static_cast<double>(static_cast<const M*>(metric)->value()); },
      [](void* metric) { *static_cast<M*>(metric) = metric::fresh(std::move(*static_cast<M*>(metric))); },
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

/// All but the type of outputs.
class MetricList {
 public:
  std::vector<std::string> names() const;
  /// Begins anew.
  void clear();
  /// What comes now is measured: the clocks start.
  void begin();
  /// The loss, and each metric. What a metric throws is the problem of its reading.
  std::vector<Reading> readings() const;
  /// An output, its loss, and for how many items that stands.
  void update(const void* output, double loss, std::int64_t items);
  /// Has a checkpoint keep them under `path`.
  void record(RecordedObjects& objects, const std::string& path);
  /// What they have seen, and adding what such metrics of other data have.
  TensorSource snapshot();
  void merge(const TensorSource& others);

  /// `feed` calls the metric's update with what it wants of an output. Throws ArgumentError where the name is taken.
  template <class Output, Metric M, class F>
  void add(M metric, const std::string& name, F feed) {
    static_assert(metric::kHasState<M>, "a metric without states: what adds up is a metric::Total, Totals, ...");
    add(Entry{name, &metric_type<M>(), std::make_shared<M>(std::move(metric)),
              [feed = std::move(feed)](void* held, const void* output) {
                feed(*static_cast<M*>(held), *static_cast<const Output*>(output));
              }});
  }

 private:
  struct Entry {
    std::string name;
    const MetricType* type;
    std::shared_ptr<void> metric;
    std::function<void(void* metric, const void* output)> feed;
  };
  void add(Entry entry);

  metric::Mean loss_;
  std::vector<Entry> entries_;
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
