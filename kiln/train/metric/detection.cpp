#include "kiln/train/metric/detection.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kiln/tensor/loss.hpp"

namespace kiln::metric {
namespace {

/// Throws for boxes that are no [n, 4] and for labels that are no classes; returns the labels.
std::vector<std::int64_t> labels_of(std::string_view which, const Tensor<2>& boxes, const Tensor<1, Int>& classes) {
  require<ShapeError>(boxes.dim(1) == 4 && boxes.dim(0) == classes.dim(0), "mean average precision: ", which, " boxes ",
                      boxes.shape(), " and labels ", classes.shape(), " must be [n, 4] and [n]");
  std::vector<std::int64_t> labels = classes.to_vector<std::int64_t>();
  constexpr std::int64_t kMostClasses = 1 << 24;
  for (const auto label : labels)
    require<DataError>(label >= 0 && label < kMostClasses, "mean average precision: label ", label, " is not in 0 to ",
                       kMostClasses);
  return labels;
}

/// How far each found box overlaps each true one, row by row.
std::vector<double> overlaps_of(const Tensor<2>& boxes, const Tensor<2>& true_boxes) {
  return box_iou(boxes.detach().to(DType::F64), true_boxes.detach().to(DType::F64)).to_vector<double>();
}

}  // namespace

void MeanAveragePrecision::Detections::merge(const Detections& other) {
  scores.insert(scores.end(), other.scores.begin(), other.scores.end());
  labels.insert(labels.end(), other.labels.begin(), other.labels.end());
  right.insert(right.end(), other.right.begin(), other.right.end());
}

void MeanAveragePrecision::update(const Tensor<2>& boxes, const Tensor<1>& scores, const Tensor<1, Int>& labels,
                                  const Tensor<2>& true_boxes, const Tensor<1, Int>& true_labels) {
  const auto said = labels_of("found", boxes, labels), truth = labels_of("true", true_boxes, true_labels);
  require<ShapeError>(scores.dim(0) == boxes.dim(0), "mean average precision: ", boxes.dim(0), " boxes and ",
                      scores.dim(0), " scores");
  const auto sure = scores.to_vector<float>();
  for (const float score : sure)
    require<DataError>(!std::isnan(score), "mean average precision: a score is not a number");
  std::vector<std::size_t> order(sure.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return sure[a] > sure[b]; });

  const std::vector<double> overlaps = overlaps_of(boxes, true_boxes);
  Totals taken;                                     // boxes found of each class
  std::vector<std::int32_t> matched(truth.size());  // by threshold, as in Found::right
  for (const std::size_t i : order) {
    if (taken.at(said[i]) >= kMost) continue;
    taken.add(said[i], 1);
    std::int32_t right = 0;
    for (std::size_t t = 0; t < kThresholds.size(); ++t) {
      double best = kThresholds[t];
      std::size_t match = truth.size();
      for (std::size_t j = 0; j < truth.size(); ++j) {
        if (truth[j] != said[i] || matched[j] >> t & 1) continue;
        if (const double shared = overlaps[i * truth.size() + j]; shared >= best) best = shared, match = j;
      }
      if (match == truth.size()) continue;
      matched[match] |= 1 << t;
      right |= 1 << t;
    }
    found.merge({{sure[i]}, {static_cast<std::int32_t>(said[i])}, {right}});
  }
  for (const auto label : truth) truths.add(label, 1);
}

double MeanAveragePrecision::average(std::size_t threshold) const {
  mean("mean average precision", 0, truths.total());
  std::vector<std::size_t> order(found.scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return found.scores[a] > found.scores[b]; });
  double sum = 0, classes = 0;
  for (std::int64_t label = 0; label < truths.size(); ++label) {
    if (truths.at(label) == 0) continue;
    ++classes;
    std::vector<double> recalls, precisions;
    double right = 0, all = 0;
    for (const std::size_t i : order) {
      if (found.labels[i] != label) continue;
      ++all;
      right += found.right[i] >> threshold & 1;
      recalls.push_back(right / truths.at(label));
      precisions.push_back(right / all);
    }
    for (std::size_t i = precisions.size(); i-- > 1;) precisions[i - 1] = std::max(precisions[i - 1], precisions[i]);
    for (int step = 0; step <= 100; ++step) {
      const auto reached = std::lower_bound(recalls.begin(), recalls.end(), step / 100.0);
      if (reached != recalls.end()) sum += precisions[static_cast<std::size_t>(reached - recalls.begin())] / 101;
    }
  }
  return sum / classes;
}

double MeanAveragePrecision::value() const {
  double sum = 0;
  for (std::size_t t = 0; t < kThresholds.size(); ++t) sum += average(t);
  return sum / kThresholds.size();
}

double MeanAveragePrecision::at(double threshold) const {
  for (std::size_t t = 0; t < kThresholds.size(); ++t)
    if (std::abs(kThresholds[t] - threshold) < 1e-9) return average(t);
  fail<ArgumentError>("mean average precision: ", threshold, " is none of the thresholds 0.5, 0.55, ... 0.95");
}

}  // namespace kiln::metric
