// Folds of lines of float32, element by element.
#pragma once
#include <cstdint>

#include "kiln/vision/lines/stencil.hpp"

namespace kiln::vision {

/// Kernels read and write whole vectors: up to so many elements, less 1, behind the last.
inline constexpr std::int64_t kSlack = 64;

struct LineFold {
  Fold fold;
  bool careful;              // an element may be NaN, which is then the result
  const float* const* from;  // a line for each tap
  const float* weights;      // of a sum
  std::size_t taps;          // of a median 9 or 25
  float scale, delta;        // of a sum
};

/// to[i] = the fold of from[0][i], from[1][i], ... for i < count.
void fold_line(const LineFold& line, float* to, std::int64_t count);
/// Copies `count` elements, and no more; is one of them NaN?
bool copy_and_find_nan(const float* from, float* to, std::int64_t count);

}  // namespace kiln::vision
