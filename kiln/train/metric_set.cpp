#include "kiln/train/metric_set.hpp"

#include <algorithm>
#include <limits>

namespace kiln {

template const MetricType& metric_type<metric::Accuracy>();
template const MetricType& metric_type<metric::CpuMemory>();
template const MetricType& metric_type<metric::CpuUse>();
template const MetricType& metric_type<metric::FBeta>();
template const MetricType& metric_type<metric::ItemsPerSecond>();
template const MetricType& metric_type<metric::Mean>();
template const MetricType& metric_type<metric::MeanAbsoluteError>();
template const MetricType& metric_type<metric::R2>();
template const MetricType& metric_type<metric::RootMeanSquaredError>();

void MetricList::add(NamedMetric entry) {
  require<ArgumentError>(entry.name != "loss", "training: the metric 'loss' exists already");
  for (const NamedMetric& other : entries_)
    require<ArgumentError>(other.name != entry.name, "training: there are two metrics called '", entry.name, '\'');
  entries_.push_back(std::move(entry));
}

bool MetricList::take_copies() const { return std::ranges::all_of(entries_, &NamedMetric::takes_copies); }

std::vector<std::string> MetricList::names() const {
  std::vector<std::string> names;
  for (const NamedMetric& entry : entries_) names.push_back(entry.name);
  return names;
}

std::vector<std::string> MetricList::text_names() const {
  std::vector<std::string> names;
  for (const NamedMetric& entry : entries_)
    if (entry.type->is_text) names.push_back(entry.name);
  return names;
}

MetricList MetricList::fresh() const {
  MetricList made;
  for (const NamedMetric& entry : entries_)
    made.entries_.push_back(
        {entry.name, entry.type, entry.type->fresh(entry.metric.get()), entry.takes_copies, entry.feed});
  return made;
}

void MetricList::clear() {
  loss_ = {};
  for (const NamedMetric& entry : entries_) entry.type->clear(entry.metric.get());
}

void MetricList::begin() {
  for (const NamedMetric& entry : entries_) entry.type->begin(entry.metric.get());
}

void MetricList::update(const void* output, double loss, std::int64_t items) {
  for (const NamedMetric& entry : entries_) entry.feed(entry.metric.get(), output);
  loss_.update(loss, static_cast<double>(items));
}

std::vector<Reading> MetricList::readings() const {
  std::vector<Reading> readings;
  const auto read = [&](const std::string& name, const MetricType& type, const void* metric) {
    Reading& reading = readings.emplace_back(Reading{name, std::numeric_limits<double>::quiet_NaN()});
    try {
      type.measure(metric, reading);
    } catch (const Error& error) { reading.problem = error.message(); }
  };
  read("loss", metric_type<metric::Mean>(), &loss_);
  for (const NamedMetric& entry : entries_) read(entry.name, *entry.type, entry.metric.get());
  return readings;
}

void MetricList::record(RecordedObjects& objects, const std::string& path) {
  objects.add(path + ".loss", loss_);
  for (const NamedMetric& entry : entries_)
    entry.type->record(entry.metric.get(), objects, text(path, '.', entry.name));
}

TensorSource MetricList::snapshot() {
  RecordedObjects objects;
  record(objects, "metrics");
  return objects.snapshot({});
}

void MetricList::merge(const TensorSource& others) {
  metric_type<metric::Mean>().merge(&loss_, others, "metrics.loss");
  for (const NamedMetric& entry : entries_) entry.type->merge(entry.metric.get(), others, text("metrics.", entry.name));
}

}  // namespace kiln
