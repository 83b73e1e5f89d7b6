// Moving pictures as GIF files (GIF89a, CompuServe 1990).
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kiln/picture/picture.hpp"

namespace kiln::rl {

/// Pictures of one size, of one or three channels, shown for so many milliseconds each (a multiple of 10), again and
/// again. Up to 256 colours in all stay what they are; of more, each channel takes the nearest of six steps. Throws
/// ShapeError for no pictures or such of different sizes, ArgumentError for more than 65535 pixels a side or another time
/// than 10 to 655350 ms.
std::vector<std::byte> encode_gif(std::span<const Picture> pictures, std::int64_t milliseconds);

}  // namespace kiln::rl
