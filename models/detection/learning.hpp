// What a Learner (kiln/train) needs for a detector: the output of a step, and COCO's mean average precision of it.
//
//   const auto step = [=](const Yolox& m, BoxedBatch batch) { return detection_step(m, batch, device); };
//   const auto look = [=](const Yolox& m, BoxedBatch batch) { return detection_step(m, batch, device, {.looks = true}); };
//   Learner learner(model, AdamWConfig{}.init(model), step, {.epochs = 10});
//   learner.valid_step(look).valid_metric(DetectionPrecision{});
#pragma once
#include <vector>

#include "kiln/train/metric/detection.hpp"
#include "models/detection/detect.hpp"
#include "models/detection/yolox_loss.hpp"

namespace kiln::models {

struct DetectionOutput {
  Tensor<0> loss;
  std::vector<Detections> found{};  // of each picture; empty in training, where nobody looks
  std::vector<TrueBoxes> truth{};
  std::int64_t pictures = 0;
  std::int64_t items() const { return pictures; }
};

struct DetectionStep {
  YoloxLoss loss{};
  bool looks = false;  // says what is found, too
  /// A metric asks for unsure boxes as well.
  DetectOptions options{.least_score = 0.01, .overlap = 0.65};
};
DetectionOutput detection_step(const Yolox& model, const BoxedBatch& batch, const Device& device,
                               const DetectionStep& how = {});

/// metric::MeanAveragePrecision of the outputs of steps that look.
struct DetectionPrecision {
  static constexpr std::string_view kName = "map";
  metric::MeanAveragePrecision of_boxes{};

  void update(const DetectionOutput& output);
  double value() const { return of_boxes.value(); }
};

}  // namespace kiln::models
