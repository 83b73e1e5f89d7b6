// Geometry of pictures: crops, resizing, mirroring, rotation. Results are those of Pillow, up to one step of 255.
#pragma once
#include <array>
#include <cstdint>

#include "kiln/data/picture/picture.hpp"

namespace kiln {

/// Throws ShapeError if the part is not inside the picture.
Picture crop(const Picture& picture, std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width);
/// The middle of the picture. Throws ShapeError if it is smaller.
Picture centre_crop(const Picture& picture, std::int64_t height, std::int64_t width);
/// Adds `border` pixels on each side, black or of another brightness.
Picture padded(const Picture& picture, std::int64_t border, std::uint8_t fill = 0);
Picture mirrored(const Picture& picture);  // left becomes right
Picture flipped(const Picture& picture);   // upside down

/// Resizes: each new pixel is the mean of those that it covers, weighted by a triangle (bilinear, with antialiasing
/// where the picture shrinks). Throws ShapeError for a size that is not positive, or too large.
Picture resized(const Picture& picture, std::int64_t height, std::int64_t width);
/// The shorter side becomes `side`; the other keeps the proportion, rounded down.
Picture resized_to(const Picture& picture, std::int64_t side);

/// Pixel (x, y) of the result is the picture's at (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]), all measured from
/// centres of pixels, with interpolation; `fill` outside of the picture.
Picture affine(const Picture& picture, const std::array<double, 6>& matrix, std::uint8_t fill = 0);
/// Rotates counter-clockwise about the middle.
Picture rotated(const Picture& picture, double degrees, std::uint8_t fill = 0);

}  // namespace kiln
