// Where the pixels of a picture lie: crops, sizes, mirrors, turns. Figures are Pillow's, within one step of 255.
#pragma once
#include <array>
#include <cstdint>

#include "kiln/data/picture/picture.hpp"

namespace kiln {

/// Throws ShapeError where the part does not lie in the picture.
Picture crop(const Picture& picture, std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width);
/// The middle of the picture. Throws ShapeError where it is smaller.
Picture centre_crop(const Picture& picture, std::int64_t height, std::int64_t width);
/// So many pixels more on each side, black or of another brightness.
Picture padded(const Picture& picture, std::int64_t border, std::uint8_t fill = 0);
Picture mirrored(const Picture& picture);  // left becomes right
Picture flipped(const Picture& picture);   // upside down

/// In another size: each new pixel is the mean of those that it covers, weighted by a triangle (bilinear, with antialiasing
/// where the picture shrinks). Throws ShapeError for a size that is not positive, or too large.
Picture resized(const Picture& picture, std::int64_t height, std::int64_t width);
/// The shorter side becomes `side`, the other one keeps its proportion, cut to whole pixels.
Picture resized_to(const Picture& picture, std::int64_t side);

/// Pixel (x, y) of the result is the picture's at (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]), all counted from centres
/// of pixels, between which it is interpolated; `fill` where the picture ends.
Picture affine(const Picture& picture, const std::array<double, 6>& matrix, std::uint8_t fill = 0);
/// Counter-clockwise about the middle.
Picture rotated(const Picture& picture, double degrees, std::uint8_t fill = 0);

}  // namespace kiln
