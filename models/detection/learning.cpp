#include "models/detection/learning.hpp"

namespace kiln::models {

DetectionOutput detection_step(const Yolox& model, const BoxedBatch& batch, const Device& device,
                               const DetectionStep& how) {
  const YoloxOutput seen = model.forward(Tensor<4>::from_data(batch.images, device));
  DetectionOutput output{.loss = how.loss.forward(seen, batch.boxes).loss, .pictures = batch.items()};
  if (!how.looks) return output;
  output.found = detections(seen, how.options);
  for (const std::vector<Box>& boxes : batch.boxes) output.truth.push_back(true_boxes(boxes, device.inner()));
  return output;
}

void DetectionPrecision::update(const DetectionOutput& output) {
  for (std::size_t i = 0; i < output.found.size(); ++i) {
    const auto& [boxes, scores, labels] = output.found[i];
    of_boxes.update(boxes, scores, labels, output.truth[i].boxes, output.truth[i].labels);
  }
}

}  // namespace kiln::models
