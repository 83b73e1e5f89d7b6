// Resizing of [batch, channels, sizes...] in 1, 2 and 3 dimensions.
#pragma once
#include "kiln/ops/functions.hpp"
#include "kiln/ops/spatial/interpolation.hpp"

namespace kiln {

/// One of `size` and `scale`; a single entry holds for all spatial dimensions.
struct InterpolateOptions {
  Spatial size{};                 // of the result
  InlineList<double, 3> scale{};  // sizes are multiplied by these and rounded down; positions follow these exactly
  Interpolation mode = Interpolation::Nearest;
  bool align_corners = false;  // corner elements keep their places, rather than the outer edges
  bool antialias = false;      // on shrinking, every element counts: as Pillow resizes
};

/// x [batch, channels, sizes...] at other sizes. Positions and borders as PyTorch has them; Lanczos3 as Pillow.
/// Elements other than floats are taken in the nearest modes.
Value interpolate(const Value& x, const InterpolateOptions& options);

}  // namespace kiln
