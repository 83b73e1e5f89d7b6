#include "kiln/train/metric/ranking.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace kiln::metric {
namespace {

/// An unsigned number for each float, in the same order; both zeros give the same.
std::uint32_t ordered(float score) {
  const auto bits = std::bit_cast<std::uint32_t>(score + 0.0f);
  return bits >> 31 ? ~bits : bits | 0x8000'0000u;
}

struct Steps {
  double positives = 0, negatives = 0;  // with this score
};

/// Calls step(counts) for each distinct score, from the smallest.
template <class F>
void for_each_score(const std::vector<std::uint64_t>& ranked, F&& step) {
  for (std::size_t i = 0; i < ranked.size();) {
    Steps here;
    for (const std::uint64_t score = ranked[i] >> 1; i < ranked.size() && ranked[i] >> 1 == score; ++i)
      ++(ranked[i] & 1 ? here.positives : here.negatives);
    step(here);
  }
}

double area_under_roc(const std::vector<std::uint64_t>& ranked) {
  double area = 0, positives = 0, negatives = 0;
  for_each_score(ranked, [&](const Steps& here) {
    area += here.positives * (negatives + here.negatives / 2);
    positives += here.positives;
    negatives += here.negatives;
  });
  require<ArgumentError>(positives > 0 && negatives > 0, "auroc: a class has ", positives, " items, and ", negatives,
                         " are of others; there must be both");
  return area / (positives * negatives);
}

double average_precision(const std::vector<std::uint64_t>& ranked) {
  const auto ones = std::count_if(ranked.begin(), ranked.end(), [](std::uint64_t item) { return item & 1; });
  const auto positives = static_cast<double>(ones);
  require<ArgumentError>(positives > 0, "average precision: a class has no items");
  double sum = 0, hits = positives, all = static_cast<double>(ranked.size());
  for_each_score(ranked, [&](const Steps& here) {  // hits and all count this score and larger ones
    sum += here.positives * hits / all;
    hits -= here.positives;
    all -= here.positives + here.negatives;
  });
  return sum / positives;
}

}  // namespace

void RankedScores::add(std::string_view name, const Value& new_scores, const Value& targets) {
  RankedScores batch;
  batch.exclusive = is_exclusive(name, new_scores, targets);
  batch.columns = new_scores.rank() == 1 ? 1 : new_scores.dim(1);
  require<ArgumentError>(batch.columns >= 1, name, ": scores of no classes");
  for (const auto label : checked_targets(name, targets, batch.exclusive ? batch.columns : 2, std::nullopt))
    batch.labels.push_back(static_cast<std::int32_t>(label));
  batch.scores = new_scores.data().to_vector<float>();
  for (const float score : batch.scores) require<DataError>(!std::isnan(score), name, ": a score is not a number");
  require<ShapeError>(columns == 0 || (columns == batch.columns && exclusive == batch.exclusive), name, ": scores of ",
                      batch.columns, " classes after scores of ", columns);
  merge(batch);
}

void RankedScores::merge(const RankedScores& other) {
  if (other.columns == 0) return;
  require<ShapeError>(columns == 0 || (columns == other.columns && exclusive == other.exclusive), "metric: scores of ",
                      other.columns, " classes after scores of ", columns);
  columns = other.columns;
  exclusive = other.exclusive;
  scores.insert(scores.end(), other.scores.begin(), other.scores.end());
  labels.insert(labels.end(), other.labels.begin(), other.labels.end());
}

double RankedScores::average(std::string_view name, Average average,
                             double (*of)(const std::vector<std::uint64_t>&)) const {
  mean(name, 0, static_cast<double>(scores.size()));
  const auto width = static_cast<std::size_t>(columns), items = scores.size() / width;
  const auto is_of = [&](std::size_t item, std::size_t column) {
    return exclusive ? labels[item] == static_cast<std::int32_t>(column) : labels[item * width + column] == 1;
  };
  const bool micro = average == Average::Micro;
  double sum = 0, weights = 0;
  std::vector<std::uint64_t> ranked;
  for (std::size_t column = 0; column < width; ++column) {
    double positives = 0;
    if (!micro) ranked.clear();
    for (std::size_t item = 0; item < items; ++item) {
      const bool positive = is_of(item, column);
      ranked.push_back(std::uint64_t{ordered(scores[item * width + column])} << 1 | positive);
      positives += positive;
    }
    if (micro && column + 1 < width) continue;
    std::sort(ranked.begin(), ranked.end());
    const double weight = average == Average::Weighted ? positives : 1;
    sum += weight * of(ranked);
    weights += weight;
  }
  return share(sum, weights);
}

double Auroc::value() const { return samples.average("auroc", average, area_under_roc); }

double AveragePrecision::value() const { return samples.average("average precision", average, average_precision); }

void CalibrationError::add(const Value& probabilities, const Value& targets) {
  require<ArgumentError>(bins >= 1, "calibration error: bins is ", bins, ", it must be at least 1");
  is_exclusive("calibration error", probabilities, targets);
  const std::int64_t classes = probabilities.dim(1);
  const auto actual = checked_targets("calibration error", targets, classes, std::nullopt);
  const auto values = probabilities.data().to_vector<double>();
  for (const double value : values)
    require<DataError>(value >= 0 && value <= 1, "calibration error: ", value, " is no probability");
  for (std::size_t item = 0; item < actual.size(); ++item) {
    const auto row = values.begin() + static_cast<std::ptrdiff_t>(item) * classes;
    const auto best = std::max_element(row, row + classes);
    // A bin includes its upper end: (0.2, 0.3].
    const auto bin = static_cast<std::int64_t>(std::ceil(*best * static_cast<double>(bins))) - 1;
    const std::int64_t place = std::clamp<std::int64_t>(bin, 0, bins - 1);
    counts.add(place, 1);
    confidences.add(place, *best);
    hits.add(place, best - row == actual[item]);
  }
}

double CalibrationError::value() const {
  double apart = 0;
  for (std::int64_t bin = 0; bin < counts.size(); ++bin) apart += std::abs(confidences.at(bin) - hits.at(bin));
  return mean("calibration error", apart, counts.total());
}

}  // namespace kiln::metric
