// stb_easy_font: a bitmap font that gives the rectangles of a text.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <stb/stb_easy_font.h>

#include "kiln/vision/draw.hpp"

namespace kiln::vision {

bool has_font() { return true; }

std::vector<Quad> quads_of(const std::string& text) {
  struct Corner {
    float x, y, z;
    std::uint32_t colour;
  };
  constexpr std::size_t kMostQuads = 24;  // of a character
  std::vector<Corner> corners(4 * kMostQuads * (text.size() + 1));
  std::string copy = text;  // the library's function takes a mutable text
  const int count = stb_easy_font_print(0, 0, copy.data(), nullptr, corners.data(),
                                        static_cast<int>(corners.size() * sizeof(Corner)));
  std::vector<Quad> quads;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
    quads.push_back({corners[4 * i].x, corners[4 * i].y, corners[4 * i + 2].x, corners[4 * i + 2].y});
  return quads;
}

}  // namespace kiln::vision
