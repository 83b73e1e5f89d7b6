// Mean average precision of detected boxes, as in the COCO challenge.
#pragma once
#include <array>

#include "kiln/tensor/tensor.hpp"
#include "kiln/train/metric/metric.hpp"

namespace kiln::metric {

/// Boxes are [n, 4]: left, top, right, bottom. Lin et al., "Microsoft COCO: common objects in context", 2014; the
/// details follow pycocotools: thresholds 0.5, 0.55, ... 0.95 of intersection over union, precision at 101 recalls, at
/// most 100 boxes of a class in an image, boxes of all sizes, no crowds.
struct MeanAveragePrecision {
  static constexpr std::int64_t kMost = 100;
  static constexpr std::array kThresholds = {0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95};

  /// The detections of all images.
  struct Detections {
    std::vector<float> scores{};
    std::vector<std::int32_t> labels{};
    std::vector<std::int32_t> right{};  // bit t: a match at kThresholds[t]
    void merge(const Detections& other);
  };
  Detections found{};
  Totals truths{};  // true boxes per class

  /// Adds one image. Throws ShapeError; DataError for labels below 0 and for scores that are NaN.
  void update(const Tensor<2>& boxes, const Tensor<1>& scores, const Tensor<1, Int>& labels,
              const Tensor<2>& true_boxes, const Tensor<1, Int>& true_labels);
  /// The mean over thresholds and over classes that have true boxes.
  double value() const;
  /// The mean over classes at one of the thresholds.
  double at(double threshold) const;

 private:
  double average(std::size_t threshold) const;
};

}  // namespace kiln::metric
