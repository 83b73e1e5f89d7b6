// Losses of predicted boxes: forward(x, target) of [..., 4] boxes [x1, y1, x2, y2]. What each one is says BoxOverlap
// (kiln/ops/loss/boxes.hpp).
#pragma once
#include "kiln/nn/loss/reduced.hpp"

namespace kiln::nn {

/// 1 - intersection / union. Boxes that do not meet have no gradient.
struct IouLoss {
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(IouLoss, box_iou_loss, BoxOverlap::Iou)
};

/// The same, and the emptiness of the smallest box around both.
struct GiouLoss {
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(GiouLoss, box_iou_loss, BoxOverlap::Giou)
};

/// IouLoss, and how far the centres are apart.
struct DiouLoss {
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(DiouLoss, box_iou_loss, BoxOverlap::Diou)
};

/// DiouLoss, and how the aspect ratios differ.
struct CiouLoss {
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(CiouLoss, box_iou_loss, BoxOverlap::Ciou)
};

}  // namespace kiln::nn
