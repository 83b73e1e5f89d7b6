// The places of the pixels that a border continues, one by one.
#pragma once
#include <algorithm>
#include <cstdint>

#include "kiln/vision/pictures.hpp"

namespace kiln::vision {

/// The place of pixel `i` of a line of `size` pixels, or of what continues it; -1: outside, where the border is constant.
inline std::int64_t place_of(std::int64_t i, std::int64_t size, Border border) {
  if (i >= 0 && i < size) return i;
  const auto modulo = [](std::int64_t a, std::int64_t b) { return (a % b + b) % b; };
  switch (border) {
    case Border::Constant: return -1;
    case Border::Replicate: return std::clamp<std::int64_t>(i, 0, size - 1);
    case Border::Wrap: return modulo(i, size);
    case Border::Reflect: {
      const std::int64_t there = modulo(i, 2 * size);
      return std::min(there, 2 * size - 1 - there);
    }
    case Border::Reflect101: {
      if (size == 1) return 0;
      const std::int64_t there = modulo(i, 2 * size - 2);
      return std::min(there, 2 * size - 2 - there);
    }
  }
  return -1;
}

}  // namespace kiln::vision
