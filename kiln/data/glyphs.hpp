// Shapes of the ten digits: pen strokes in the unit square, several variants for each digit.
#pragma once
#include <span>
#include <vector>

namespace kiln {

/// A point of a stroke, with x to the right and y down. The stroke is smooth there, unless it is a corner.
struct Knot {
  float x, y;
  bool corner = false;
};

using Stroke = std::vector<Knot>;
using Glyph = std::vector<Stroke>;

/// The variants of `digit` (0 to 9), at least two.
std::span<const Glyph> glyphs_of(int digit);

}  // namespace kiln
