// Filled polygons, for masks that files describe by their outlines.
#pragma once
#include <span>

#include "kiln/vision/draw.hpp"

namespace kiln::vision {

/// The pixels whose middles lie in the polygon of these corners become `colour`; where it crosses itself, those that a ray
/// leaves through an odd number of its sides (OpenCV's fillPoly). What lies outside of the picture is left out; fewer
/// than three corners cover nothing. Throws ShapeError for a picture that has not 1 or 3 channels, ArgumentError for a
/// corner that is not finite.
void fill_polygon(Picture& picture, std::span<const Position> corners, const Colour& colour);

}  // namespace kiln::vision
