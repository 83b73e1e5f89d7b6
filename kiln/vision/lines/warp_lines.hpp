// Lines of pictures that are read at positions of a map of the plane.
#pragma once
#include <cstdint>

#include "kiln/vision/pictures.hpp"

namespace kiln::vision {

/// Contiguous planes, one after the other, which are read linearly or cubically.
struct WarpSource {
  std::int64_t channels, rows, columns;
  bool is_cubic;
  Border border;
  float outside;  // of a constant border
};

/// A row of the result.
struct WarpLine {
  const double* matrix;         // 3 x 3: from positions in the result to those in the source
  std::int64_t row, count;      // its number and its pixels
  std::int64_t channel_stride;  // from channel to channel of the result
};

/// A position that is NaN reads 0.
void warp_line(const WarpSource& source, const float* x, const WarpLine& line, float* y);

}  // namespace kiln::vision
