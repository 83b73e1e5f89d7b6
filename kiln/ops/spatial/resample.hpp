// Resizing of [batch, channels, sizes...] in 1, 2 and 3 dimensions.
#pragma once
#include "kiln/ops/functions.hpp"
#include "kiln/ops/spatial/interpolation.hpp"

namespace kiln {

/// Either `size` or `scale` must be given; a single entry applies to all spatial dimensions.
struct InterpolateOptions {
  Spatial size{};                 // of the result
  InlineList<double, 3> scale{};  // sizes are multiplied by these and rounded down; positions use these exactly
  Interpolation mode = Interpolation::Nearest;
  bool align_corners = false;  // corner elements keep their positions, rather than the outer edges
  bool antialias = false;      // on shrinking, all elements contribute, as in Pillow
};

/// Resizes x [batch, channels, sizes...]. Positions and borders are as in PyTorch; Lanczos3 is as in Pillow. Types
/// other than floats are accepted in the nearest modes.
Value interpolate(const Value& x, const InterpolateOptions& options);

}  // namespace kiln
