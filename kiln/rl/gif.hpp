// Moving pictures as GIF files (GIF89a, CompuServe 1990).
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kiln/picture/picture.hpp"

namespace kiln::rl {

/// Writes pictures of one size, of one or three channels, shown for so many milliseconds each (a multiple of 10) in an
/// endless loop. Up to 256 different colours are exact; with more, each channel is rounded to six levels. Throws
/// ShapeError for no pictures or different sizes, and ArgumentError for more than 65535 pixels a side, or a time that
/// is not 10 to 655350 ms.
std::vector<std::byte> encode_gif(std::span<const Picture> pictures, std::int64_t milliseconds);

}  // namespace kiln::rl
