// Samples [batch, channels, sizes...] at any positions.
#pragma once
#include "kiln/ops/functions.hpp"
#include "kiln/ops/spatial/interpolation.hpp"

namespace kiln {

/// The values outside of an image.
enum class SamplePadding : std::uint8_t {
  Zeros,
  Border,      // the nearest element
  Reflection,  // the image, mirrored at its edges repeatedly
};

struct GridSampleOptions {
  Interpolation mode = Interpolation::Linear;  // Nearest, Linear, or (in two dimensions) Cubic
  SamplePadding padding = SamplePadding::Zeros;
  bool align_corners = false;  // -1 and 1 are the centres of the corner elements, rather than the outer edges
};

/// x [batch, channels, height, width], grid [batch, rows, columns, 2] -> [batch, channels, rows, columns]; or with a
/// depth and a last dimension of 3. grid[..., 0] is the position along the width, from -1 to 1, followed by those along
/// the height and the depth. A position that is NaN reads nothing.
Value grid_sample(const Value& x, const Value& grid, const GridSampleOptions& options = {});

/// theta [batch, 2, 3] or [batch, 3, 4], which maps positions in the result to positions in the image -> a grid
/// [batch, sizes..., 2 or 3] for grid_sample.
Value affine_grid(const Value& theta, const Spatial& sizes, bool align_corners = false);

struct RoiAlignOptions {
  Spatial size{};                   // [rows, columns] of each result
  double spatial_scale = 1;         // from the boxes' units to elements of x
  std::int64_t sampling_ratio = 0;  // samples per result element and axis; 0: as many as there are elements (waits)
  bool aligned = true;              // coordinates refer to the elements' edges, not their centres
};

/// x [batch, channels, height, width], boxes [count, 5] of (image, x1, y1, x2, y2) -> [count, channels, rows, columns]:
/// each element is the mean of samples in its part of the box (He et al., Mask R-CNN, 2017). Throws IndexError for an
/// image that does not exist. Mask R-CNN's first publication has `aligned` false.
Value roi_align(const Value& x, const Value& boxes, const RoiAlignOptions& options);

}  // namespace kiln
