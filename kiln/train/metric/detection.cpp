#include "kiln/train/metric/detection.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kiln::metric {
namespace {

struct Box {
  double left, top, right, bottom;
  double area() const { return (right - left) * (bottom - top); }
};

double overlap(const Box& a, const Box& b) {
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (width <= 0 || height <= 0) return 0;
  return width * height / (a.area() + b.area() - width * height);
}

struct Boxes {
  std::vector<Box> boxes;
  std::vector<std::int64_t> labels;

  Boxes(std::string_view which, const Tensor<2>& tensor, const Tensor<1, Int>& classes)
      : labels(classes.to_vector<std::int64_t>()) {
    require<ShapeError>(tensor.dim(1) == 4 && tensor.dim(0) == classes.dim(0), "mean average precision: ", which,
                        " boxes ", tensor.shape(), " and labels ", classes.shape(), " must be [n, 4] and [n]");
    constexpr std::int64_t kMostClasses = 1 << 24;
    for (const auto label : labels)
      require<DataError>(label >= 0 && label < kMostClasses, "mean average precision: label ", label,
                         " is not in 0 to ", kMostClasses);
    const auto numbers = tensor.to_vector<double>();
    for (std::size_t i = 0; i < numbers.size(); i += 4)
      boxes.push_back({numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]});
  }
};

}  // namespace

void MeanAveragePrecision::Found::merge(const Found& other) {
  scores.insert(scores.end(), other.scores.begin(), other.scores.end());
  labels.insert(labels.end(), other.labels.begin(), other.labels.end());
  right.insert(right.end(), other.right.begin(), other.right.end());
}

void MeanAveragePrecision::update(const Tensor<2>& boxes, const Tensor<1>& scores, const Tensor<1, Int>& labels,
                                  const Tensor<2>& true_boxes, const Tensor<1, Int>& true_labels) {
  const Boxes said("found", boxes, labels), truth("true", true_boxes, true_labels);
  require<ShapeError>(scores.dim(0) == boxes.dim(0), "mean average precision: ", boxes.dim(0), " boxes and ",
                      scores.dim(0), " scores");
  const auto sure = scores.to_vector<float>();
  for (const float score : sure) require<DataError>(!std::isnan(score), "mean average precision: a score is no number");
  std::vector<std::size_t> order(sure.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return sure[a] > sure[b]; });

  Totals taken;                                           // boxes used per class
  std::vector<std::int32_t> matched(truth.boxes.size());  // by threshold, as in Found::right
  for (const std::size_t i : order) {
    if (taken.at(said.labels[i]) >= kMost) continue;
    taken.add(said.labels[i], 1);
    std::int32_t right = 0;
    for (std::size_t t = 0; t < kThresholds.size(); ++t) {
      double best = kThresholds[t];
      std::size_t match = truth.boxes.size();
      for (std::size_t j = 0; j < truth.boxes.size(); ++j) {
        if (truth.labels[j] != said.labels[i] || matched[j] >> t & 1) continue;
        if (const double shared = overlap(said.boxes[i], truth.boxes[j]); shared >= best) best = shared, match = j;
      }
      if (match == truth.boxes.size()) continue;
      matched[match] |= 1 << t;
      right |= 1 << t;
    }
    found.merge({{sure[i]}, {static_cast<std::int32_t>(said.labels[i])}, {right}});
  }
  for (const auto label : truth.labels) truths.add(label, 1);
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
