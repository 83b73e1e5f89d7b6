// The overlap of boxes, and losses of predicted boxes. A box is [x1, y1, x2, y2]; one whose end is before its start has
// no area.
#pragma once
#include "kiln/ops/loss/loss.hpp"

namespace kiln {

enum class BoxOverlap : std::uint8_t {
  Iou,   // the intersection divided by the union
  Giou,  // Iou minus the fraction of the smallest enclosing box that neither fills (Rezatofighi et al., "Generalized
         // intersection over union", 2019)
  Diou,  // Iou minus (distance of the centres / diagonal of that box)^2 (Zheng et al., "Distance-IoU loss", 2020)
  Ciou,  // Diou minus the difference of aspect ratios, weighted by a number without a gradient (the same paper)
};

/// a [n, 4], b [m, 4] -> [n, m]: the overlap of each box of a with each of b, at most 1. Two boxes without area have
/// the overlap 0. Halves are computed in float32.
Value box_iou(const Value& a, const Value& b, BoxOverlap kind = BoxOverlap::Iou);
/// x, target [..., 4] -> 1 - overlap of each pair, [...]: like torchvision's generalized_box_iou_loss and its variants.
Value box_iou_loss(const Value& x, const Value& target, BoxOverlap kind = BoxOverlap::Giou,
                   Reduction reduction = Reduction::Mean);

}  // namespace kiln
