// The loss of YOLOX: cells are assigned to true boxes (sim_ota.hpp), and learn the box, its class and that there is one.
#pragma once
#include <span>
#include <vector>

#include "models/detection/sim_ota.hpp"

namespace kiln::models {

struct YoloxLosses {
  Tensor<0> loss;  // the weighted sum of the others, each summed over cells and divided by `assigned`
  Tensor<0> boxes, objectness, classes;
  Tensor<0> distances;        // 0 unless YoloxLoss::distance_weight is set
  std::int64_t assigned = 0;  // cells that learn a box, or 1 where there are none
};

struct YoloxLoss {
  double box_weight = 5;       // of 1 - IoU^2
  double distance_weight = 0;  // of |d| of what the network says of a box; YOLOX sets it to 1 in its last epochs
  SimOta assignment{};

  /// boxes: those of each picture, in pixels of the images, with labels below the number of classes. A picture may have
  /// none: its cells learn that. A box whose middle lies outside of the picture is learned by the cells next to it, if
  /// there are any. Waits for the device. Throws ShapeError for another number of pictures; DataError for a box without
  /// area, or not finite, and for a label that is no class.
  YoloxLosses forward(const YoloxOutput& output, std::span<const std::vector<Box>> boxes) const;
};

}  // namespace kiln::models
