// Digits as pictures: read from image files, drawn in the terminal.
#pragma once
#include <filesystem>
#include <string>

#include "kiln/data/image.hpp"

namespace guide {

/// Any PNG, JPEG, BMP or PGM file, made into what the model was trained on: grey, bright on dark (a bright background
/// is inverted), 28 x 28. Throws DataError where the file is no image, IoError where it cannot be read.
kiln::Image read_picture(const std::filesystem::path& file);

/// The image in shades of grey, two pixels a character; without colours in letters, a pixel two of them.
std::string draw(const kiln::Image& image, bool colours);

}  // namespace guide
