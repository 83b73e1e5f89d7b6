// Boxes [..., 4] of floats. box_iou in kiln/tensor/loss.hpp measures how far they overlap (IoU, GIoU, DIoU, CIoU).
#pragma once
#include <span>
#include <vector>

#include "kiln/vision/pictures.hpp"

namespace kiln::vision {

enum class BoxFormat : std::uint8_t {
  Corners,     // x1, y1, x2, y2: the format that all other functions take
  CornerSize,  // x1, y1, width, height: COCO's format
  CentreSize,  // x and y of the centre, width, height: YOLO's format
};
/// Converts boxes [..., 4] from one format to another: [..., 4].
Value convert_boxes(const Value& boxes, BoxFormat from, BoxFormat to);
/// Returns the areas of boxes [..., 4]: [...]. The area of a box that is upside down is 0.
Value box_area(const Value& boxes);
/// Returns the boxes cut off at the edges of a picture of this size.
Value clip_boxes(const Value& boxes, std::int64_t height, std::int64_t width);
/// Returns booleans [...] for boxes [..., 4]: whether both sides have at least this length.
Value are_boxes_large(const Value& boxes, double least_side);
/// Returns the smallest boxes around the pixels of masks [count, height, width] that are not 0: float32 [count, 4]. A
/// mask without such pixels has a box of zeros.
Value boxes_of_masks(const Value& masks);

/// Anchors: boxes of all these sizes and proportions around the centre of each cell of a feature map (Ren et al.,
/// "Faster R-CNN", 2015).
struct Anchors {
  std::vector<double> sizes = {32};               // square roots of areas, in pixels
  std::vector<double> proportions = {0.5, 1, 2};  // height / width
};
/// Returns the anchors of a map of rows x columns cells, each stride_down x stride_across pixels: float32 [rows *
/// columns * proportions * sizes, 4]. Sizes change fastest, then proportions. Throws ArgumentError.
Value anchors(const Anchors& options, std::int64_t rows, std::int64_t columns, double stride_down, double stride_across,
              const Device& device);

/// Codes describe boxes as differences from anchors: weights times (dx / width, dy / height, log(width / width),
/// log(height / height)).
struct BoxCoding {
  double x = 1, y = 1, width = 1, height = 1;  // weights, positive
  double most_growth = 62.5;                   // the largest ratio of a decoded side to its anchor's
};
/// Encodes boxes relative to anchors, both [..., 4]: [..., 4]. The sides of both must be longer than 0.
Value encode_boxes(const Value& boxes, const Value& anchors, const BoxCoding& coding = {});
/// Decodes codes relative to anchors, both [..., 4], into boxes [..., 4]: the inverse of encode_boxes.
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
