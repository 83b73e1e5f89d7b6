// Pictures for people to look at: grey images, one or many side by side, and coloured pictures to PNG files (ISO/IEC
// 15948).
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "kiln/data/image.hpp"
#include "kiln/picture/picture.hpp"

namespace kiln {

/// Images of one size in rows of `columns`, each pixel drawn `scale` times in both directions, with a thin grey line between
/// them. Throws ArgumentError for less than 1 column or a scale that is not 1 to 64, ShapeError where the images are none
/// or not all of the same size.
Image grid_of(std::span<const Image> images, std::int64_t columns, std::int64_t scale = 1);

/// The bytes of a PNG file. Pixels from 0, black, to 1, white; what lies outside becomes the nearer one, and NaN black. Throws
/// ShapeError where the image is empty or has another number of pixels than its size, or MemoryError where it is greater
/// than a PNG can be.
std::vector<std::byte> encode_png(const Image& image);
/// Of one channel or three; throws ShapeError for other numbers of them as well.
std::vector<std::byte> encode_picture(const Picture& picture);
/// Replaces the file in one step. Throws IoError as well.
void write_png(const Image& image, const std::string& path);
void write_picture(const Picture& picture, const std::string& path);

}  // namespace kiln
