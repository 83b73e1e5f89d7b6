// Pools parts of feature maps to one size. roi_align of kiln/tensor/sample.hpp averages samples instead (Mask R-CNN).
#pragma once
#include "kiln/ops/spatial/sample.hpp"
#include "kiln/vision/pictures.hpp"

namespace kiln::vision {

struct RoiPool {
  Spatial size{};            // [rows, columns] of each result
  double spatial_scale = 1;  // converts the boxes' units to elements of x
};
/// Pools x [batch, channels, height, width] over boxes [count, 5] of (image, x1, y1, x2, y2): [count, channels, rows,
/// columns]. Each result is the largest element of one part of a box, whose corners are rounded to elements that belong
/// to it; a part outside of x gives 0, and a box with a corner that is NaN lies there (Girshick, "Fast R-CNN", 2015).
/// Gradients go to these elements. Throws IndexError for an image that does not exist. Waits for the device.
Value roi_pool(const Value& x, const Value& boxes, const RoiPool& options);

/// roi_align with the largest in place of means, as ONNX's RoiAlign has it: of all samples of a part, the largest of the four
/// elements around it, each times its linear weight; 0 for samples outside of x. Boxes are taken in float32 unless x is
/// float64. Throws IndexError for an image that is not there, ArgumentError for parts of more than 4096 samples along an axis.
/// Waits.
Value roi_align_largest(const Value& x, const Value& boxes, const RoiAlignOptions& options);

inline Tensor<4> roi_align_largest(const Tensor<4>& x, const Tensor<2>& boxes, const RoiAlignOptions& options) {
  return Typed{roi_align_largest(x.value(), boxes.value(), options)};
}
inline Tensor<4> roi_pool(const Tensor<4>& x, const Tensor<2>& boxes, const RoiPool& options) {
  return Typed{roi_pool(x.value(), boxes.value(), options)};
}

}  // namespace kiln::vision
