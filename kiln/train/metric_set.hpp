// The metrics of one set of data, by name, fed from the outputs of a step.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kiln/train/events.hpp"
#include "kiln/train/metric/metric.hpp"
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

/// All but the types of outputs and metrics.
class MetricList {
 public:
  std::vector<std::string> names() const;
  /// Begins anew.
  void clear();
  /// The loss, and each metric. What a metric throws is the problem of its reading.
  std::vector<Reading> readings() const;
  void update_loss(double loss, std::int64_t items) { loss_.update(loss, static_cast<double>(items)); }
  /// Has a checkpoint keep them under `path`.
  void record(RecordedObjects& objects, const std::string& path);
  /// What they have seen, and adding what such metrics of other data have.
  TensorSource snapshot();
  void merge(const TensorSource& others);

 protected:
  struct Entry {
    std::string name;
    std::shared_ptr<void> metric;
    std::function<double()> value;
    std::function<void()> clear;
    std::function<void(RecordedObjects&, const std::string& path)> record;
    std::function<void(const TensorSource&, const std::string& path)> merge;
    std::function<void(const void* output)> update;
  };
  void add(Entry entry);
  template <class M>
  static void merge_into(M& metric, const TensorSource& others, const std::string& path) {
    M other = metric::fresh(metric);
    RecordedObjects objects;
    objects.add(path, other);
    objects.restore(others, "metrics", {.allow_unexpected = true});
    metric::merge(metric, other);
  }

  metric::Mean loss_;
  std::vector<Entry> entries_;
};

template <class Output>
class MetricSet : public MetricList {
 public:
  /// `feed` calls the metric's update with what it wants of an output. Throws ArgumentError where the name is taken.
  template <Metric M, class F>
  void add(M metric, const std::string& name, F feed) {
    static_assert(metric::kHasState<M>, "a metric without states: what adds up is a metric::Total, Totals, ...");
    auto held = std::make_shared<M>(std::move(metric));
    M& m = *held;
    MetricList::add(
        {name, std::move(held), [&m] { return static_cast<double>(m.value()); },
         [&m] { m = metric::fresh(std::move(m)); },
         [&m](RecordedObjects& objects, const std::string& path) { objects.add(path, m); },
         [&m](const TensorSource& others, const std::string& path) { merge_into(m, others, path); },
         [&m, feed = std::move(feed)](const void* output) { feed(m, *static_cast<const Output*>(output)); }});
  }

  void update(const Output& output, double loss) {
    for (const Entry& entry : entries_) entry.update(&output);
    update_loss(loss, items_of(output));
  }
};

}  // namespace kiln
