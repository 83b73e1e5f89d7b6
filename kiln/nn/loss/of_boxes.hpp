// Losses of predicted boxes: forward(x, target) for [..., 4] boxes [x1, y1, x2, y2]. BoxOverlap
// (kiln/ops/loss/boxes.hpp) defines each one.
#pragma once
#include "kiln/nn/loss/reduced.hpp"

namespace kiln::nn {

/// 1 - intersection / union. Boxes that do not overlap have no gradient.
struct IouLoss {
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(IouLoss, box_iou_loss, BoxOverlap::Iou)
};

/// IouLoss, plus the empty fraction of the smallest box around both.
struct GiouLoss {
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(GiouLoss, box_iou_loss, BoxOverlap::Giou)
};

/// IouLoss, plus the distance of the centres.
struct DiouLoss {
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(DiouLoss, box_iou_loss, BoxOverlap::Diou)
};

/// DiouLoss, plus the difference of the aspect ratios.
struct CiouLoss {
  Reduction reduction = Reduction::Mean;
  KILN_LOSS(CiouLoss, box_iou_loss, BoxOverlap::Ciou)
};

}  // namespace kiln::nn
