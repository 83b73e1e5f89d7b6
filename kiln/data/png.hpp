// Pictures to view: grey images, one or a grid of many, and colour pictures as PNG files (ISO/IEC 15948).
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "kiln/data/image.hpp"
#include "kiln/picture/picture.hpp"

namespace kiln {

/// Images of one size in rows of `columns`, each pixel enlarged `scale` times in both directions, with a thin grey line
/// between images. Throws ArgumentError for less than 1 column or a scale that is not 1 to 64, ShapeError if there are
/// no images, or not all have the same size.
Image grid_of(std::span<const Image> images, std::int64_t columns, std::int64_t scale = 1);

/// The bytes of a PNG file. Pixels are from 0, black, to 1, white; values outside are clamped, and NaN is black. Throws
/// ShapeError if the image is empty or its number of pixels does not match its size, MemoryError if it is larger than a
/// PNG can be.
std::vector<std::byte> encode_png(const Image& image);
/// Encodes one channel or three; throws ShapeError for other numbers as well.
std::vector<std::byte> encode_picture(const Picture& picture);
/// Replaces the file atomically. Also throws IoError.
void write_png(const Image& image, const std::string& path);
void write_picture(const Picture& picture, const std::string& path);

}  // namespace kiln
