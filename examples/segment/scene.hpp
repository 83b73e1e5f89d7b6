// Pictures to be segmented: discs and triangles that cover each other, under uneven light and noise.
#pragma once
#include <cstdint>

#include "kiln/tensor/tensor.hpp"

namespace segment {

using namespace kiln;

/// What a pixel belongs to.
inline constexpr std::int64_t kClasses = 3;  // background, disc, triangle

struct Scenes {
  Tensor<4> images;        // [count, 1, side, side]
  Tensor<3, Int> classes;  // [count, side, side]
};

/// As many as asked for, each a pure function of (seed, index).
Scenes scenes(std::int64_t count, std::int64_t side, std::uint64_t seed, const Device& device);

}  // namespace segment
