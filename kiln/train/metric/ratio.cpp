#include "kiln/train/metric/ratio.hpp"

#include <algorithm>
#include <cmath>

namespace kiln::metric {

void LabelCounts::add(std::string_view name, const Value& scores, const Value& targets, const LabelOptions& options) {
  const LabelBatch batch = label_batch(name, scores, targets, options);
  for (std::int64_t i = 0; i < batch.size(); ++i) {
    const auto index = static_cast<std::size_t>(i);
    const std::int64_t said = batch.predicted[index], right = batch.actual[index];
    if (right < 0) continue;
    if (batch.exclusive) {
      predicted.add(said, 1);
      actual.add(right, 1);
      hits.add(right, said == right);
      all += 1;
    } else {
      const std::int64_t label = i % batch.classes;
      predicted.add(label, static_cast<double>(said));
      actual.add(label, static_cast<double>(right));
      hits.add(label, static_cast<double>(said * right));
      all += label == 0;
    }
  }
}

std::int64_t LabelCounts::classes() const { return std::max(predicted.size(), actual.size()); }

ClassCounts LabelCounts::of(std::int64_t label) const {
  return {hits.at(label), predicted.at(label), actual.at(label), all};
}

double LabelCounts::average(std::string_view name, Average average,
                            FunctionRef<double(const ClassCounts&)> ratio) const {
  mean(name, 0, all);
  if (average == Average::Micro)
    return ratio({hits.total(), predicted.total(), actual.total(), all * static_cast<double>(classes())});
  double sum = 0, weights = 0;
  for (std::int64_t label = 0; label < classes(); ++label) {
    const ClassCounts counts = of(label);
    const double weight = average == Average::Weighted ? counts.actual : counts.actual + counts.predicted > 0;
    sum += weight * ratio(counts);
    weights += weight;
  }
  return share(sum, weights);
}

namespace agreement {

double CohenKappa::operator()(const LabelCounts& counts) const {
  double chance = 0;
  for (std::int64_t i = 0; i < counts.classes(); ++i) chance += counts.predicted.at(i) * counts.actual.at(i);
  const double all = counts.all, right = counts.hits.total() / all;
  chance /= all * all;
  return chance < 1 ? (right - chance) / (1 - chance) : 1;  // all predictions and targets are of one class
}

double MatthewsCorrelation::operator()(const LabelCounts& counts) const {
  double both = 0, predicted = 0, actual = 0;
  for (std::int64_t i = 0; i < counts.classes(); ++i) {
    both += counts.predicted.at(i) * counts.actual.at(i);
    predicted += counts.predicted.at(i) * counts.predicted.at(i);
    actual += counts.actual.at(i) * counts.actual.at(i);
  }
  const double all = counts.all;
  return share(counts.hits.total() * all - both, std::sqrt((all * all - predicted) * (all * all - actual)));
}

}  // namespace agreement

namespace {

/// Returns the names of that many classes; their numbers where there are no names.
std::vector<std::string> names_of_classes(std::span<const std::string> names, std::int64_t classes) {
  require<ArgumentError>(names.empty() || std::ssize(names) == classes, "confusion matrix: ", names.size(),
                         " names for classes = ", classes, ": give one for each class, or none");
  std::vector<std::string> all(names.begin(), names.end());
  for (std::int64_t i = std::ssize(all); i < classes; ++i) all.push_back(text(i));
  return all;
}

}  // namespace

void ConfusionMatrix::add(const Value& scores, const Value& targets) {
  require_one_class("confusion matrix", options);
  (void)names_of_classes(names.list(), classes);  // checks
  const LabelBatch batch = label_batch("confusion matrix", scores, targets, options);
  require<ShapeError>(batch.classes == classes, "confusion matrix: scores of ", batch.classes, " classes, expected ",
                      classes);
  for (std::size_t i = 0; i < batch.actual.size(); ++i)
    if (batch.actual[i] >= 0) cells.add(batch.actual[i] * classes + batch.predicted[i], 1);
}

double ConfusionMatrix::value() const {
  double right = 0;
  for (std::int64_t i = 0; i < classes; ++i) right += of(i, i);
  return mean("confusion matrix", right, cells.total());
}

Matrix ConfusionMatrix::matrix() const {
  Matrix made{classes, classes, {}, names.list()};
  for (std::int64_t row = 0; row < classes; ++row)
    for (std::int64_t column = 0; column < classes; ++column) made.cells.push_back(of(row, column));
  return made;
}

std::string ConfusionMatrix::table(std::span<const std::string> others) const {
  const auto all = names_of_classes(others.empty() ? std::span<const std::string>(names.list()) : others, classes);
  const auto name = [&](std::int64_t i) -> const std::string& { return all[static_cast<std::size_t>(i)]; };
  std::size_t width = 6;
  for (std::int64_t i = 0; i < classes; ++i) width = std::max(width, name(i).size());
  for (const double cell : cells.sums) width = std::max(width, text(static_cast<std::int64_t>(cell)).size());
  const auto right_aligned = [&](const std::string& word) { return std::string(width - word.size(), ' ') + word; };

  std::string out = right_aligned("actual");
  for (std::int64_t column = 0; column < classes; ++column) out += "  " + right_aligned(name(column));
  out += '\n';
  for (std::int64_t row = 0; row < classes; ++row) {
    out += right_aligned(name(row));
    for (std::int64_t column = 0; column < classes; ++column)
      out += "  " + right_aligned(text(static_cast<std::int64_t>(of(row, column))));
    out += '\n';
  }
  return out;
}

}  // namespace kiln::metric
