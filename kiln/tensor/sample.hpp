// Samples [batch, channels, sizes...] at any positions.
#pragma once
#include "kiln/ops/spatial/sample.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// x [batch, channels, height, width], grid [batch, rows, columns, 2] of (horizontal, vertical), from -1 to 1 ->
/// [batch, channels, rows, columns]; or with a depth and (horizontal, vertical, depth).
template <int D>
Tensor<D> grid_sample(const Tensor<D>& x, const Tensor<D>& grid, const GridSampleOptions& options = {}) {
  static_assert(D == 4 || D == 5, "grid_sample: images with two or three sizes");
  return Typed{grid_sample(x.value(), grid.value(), options)};
}

/// theta [batch, 2, 3] and two sizes -> a grid of rank 4; affine_grid<5>: theta [batch, 3, 4] and three sizes.
template <int D = 4>
Tensor<D> affine_grid(const Tensor<3>& theta, const Spatial& sizes, bool align_corners = false) {
  static_assert(D == 4 || D == 5, "affine_grid: of two or three sizes");
  return Typed{affine_grid(theta.value(), sizes, align_corners)};
}

/// x [batch, channels, height, width], boxes [count, 5] of (image, x1, y1, x2, y2) -> [count, channels, rows, columns].
inline Tensor<4> roi_align(const Tensor<4>& x, const Tensor<2>& boxes, const RoiAlignOptions& options) {
  return Typed{roi_align(x.value(), boxes.value(), options)};
}

}  // namespace kiln
