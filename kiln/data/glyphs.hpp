// How people write the ten digits: the strokes of a pen in the unit square, several habits for each digit.
#pragma once
#include <span>
#include <vector>

namespace kiln {

/// A point that a stroke passes through, x to the right and y down. Smooth, unless it is a corner.
struct Knot {
  float x, y;
  bool corner = false;
};

using Stroke = std::vector<Knot>;
using Glyph = std::vector<Stroke>;

/// The habits for `digit` (0 to 9), at least two.
std::span<const Glyph> glyphs_of(int digit);

}  // namespace kiln
