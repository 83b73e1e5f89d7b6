// Boxes [..., 4] of floats. How far they overlap (IoU, GIoU, DIoU, CIoU) says box_iou of kiln/tensor/loss.hpp.
#pragma once
#include <span>
#include <vector>

#include "kiln/vision/pictures.hpp"

namespace kiln::vision {

enum class BoxFormat : std::uint8_t {
  Corners,     // x1, y1, x2, y2: what all other functions take
  CornerSize,  // x1, y1, width, height: COCO's
  CentreSize,  // the middle's x and y, width, height: YOLO's
};
/// [..., 4] -> [..., 4]
Value convert_boxes(const Value& boxes, BoxFormat from, BoxFormat to);
/// [..., 4] -> [...]; 0 for boxes that are upside down.
Value box_area(const Value& boxes);
/// Boxes cut off where a picture of this size ends.
Value clip_boxes(const Value& boxes, std::int64_t height, std::int64_t width);
/// [..., 4] -> booleans [...]: are both sides at least so long?
Value are_boxes_large(const Value& boxes, double least_side);
/// The smallest boxes around masks [count, height, width], whose pixels are not 0: float32 [count, 4]; zeros for a mask without
/// pixels.
Value boxes_of_masks(const Value& masks);

/// Boxes of all sizes and proportions around the middle of each cell of feature maps (Ren et al., "Faster R-CNN", 2015).
struct Anchors {
  std::vector<double> sizes = {32};               // roots of areas, in pixels
  std::vector<double> proportions = {0.5, 1, 2};  // height / width
};
/// The boxes of a map of rows x columns cells, each stride_down x stride_across pixels: float32 [rows * columns * proportions *
/// sizes, 4], sizes changing fastest, then proportions. Throws ArgumentError.
Value anchors(const Anchors& options, std::int64_t rows, std::int64_t columns, double stride_down, double stride_across,
              const Device& device);

/// Boxes as differences from anchors: weights times (dx / width, dy / height, log(width / width), log(height / height)).
struct BoxCoding {
  double x = 1, y = 1, width = 1, height = 1;  // weights, positive
  double most_growth = 62.5;                   // a decoded side is at most so many times its anchor's
};
/// boxes, anchors [..., 4] -> [..., 4]. Both have sides longer than 0.
Value encode_boxes(const Value& boxes, const Value& anchors, const BoxCoding& coding = {});
/// codes, anchors [..., 4] -> boxes [..., 4]: what encode_boxes made these codes of.
Value decode_boxes(const Value& codes, const Value& anchors, const BoxCoding& coding = {});

template <int D>
requires(D >= 1) Tensor<D> convert_boxes(const Tensor<D>& boxes, BoxFormat from, BoxFormat to) {
  return Typed{convert_boxes(boxes.value(), from, to)};
}
template <int D>
requires(D >= 1) Tensor<D - 1> box_area(const Tensor<D>& boxes) {
  return Typed{box_area(boxes.value())};
}
template <int D>
requires(D >= 1) Tensor<D> clip_boxes(const Tensor<D>& boxes, std::int64_t height, std::int64_t width) {
  return Typed{clip_boxes(boxes.value(), height, width)};
}
template <int D>
requires(D >= 1) Tensor<D - 1, Bool> are_boxes_large(const Tensor<D>& boxes, double least_side) {
  return Typed{are_boxes_large(boxes.value(), least_side)};
}
template <class K>
Tensor<2> boxes_of_masks(const Tensor<3, K>& masks) {
  return Typed{boxes_of_masks(masks.value())};
}
template <int D>
requires(D >= 1)
Tensor<D> encode_boxes(const Tensor<D>& boxes, const Tensor<D>& anchors, const BoxCoding& coding = {}) {
  return Typed{encode_boxes(boxes.value(), anchors.value(), coding)};
}
template <int D>
requires(D >= 1)
Tensor<D> decode_boxes(const Tensor<D>& codes, const Tensor<D>& anchors, const BoxCoding& coding = {}) {
  return Typed{decode_boxes(codes.value(), anchors.value(), coding)};
}

}  // namespace kiln::vision
