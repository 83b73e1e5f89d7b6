#include "kiln/rl/sketch.hpp"

#include <algorithm>
#include <cmath>

namespace kiln::rl {

Sketch::Sketch(double width, double height, double pixels_a_unit, Colour ground)
    : picture_(blank(std::lround(height * pixels_a_unit), std::lround(width * pixels_a_unit), 3)),
      scale_(pixels_a_unit) {
  fill(ground, [](double, double) { return -1.0; });
}

/// `distance` is that of a point from the shape's edge in units, negative inside; a pixel on the edge is blended.
template <class Distance>
void Sketch::fill(Colour colour, Distance distance) {
  const std::uint8_t ink[] = {colour.red, colour.green, colour.blue};
  for (std::int64_t row = 0; row < picture_.height; ++row)
    for (std::int64_t column = 0; column < picture_.width; ++column) {
      const double x = (static_cast<double>(column) + 0.5) / scale_;
      const double y = (static_cast<double>(picture_.height - row) - 0.5) / scale_;
      const double share = std::clamp(0.5 - distance(x, y) * scale_, 0.0, 1.0);
      if (share == 0) continue;
      std::uint8_t* const pixel = picture_.at(row, column);
      for (int c = 0; c < 3; ++c)
        pixel[c] = static_cast<std::uint8_t>(std::lround(pixel[c] + share * (ink[c] - pixel[c])));
    }
}

void Sketch::line(At from, At to, double thickness, Colour colour) {
  const double dx = to.x - from.x, dy = to.y - from.y, length2 = dx * dx + dy * dy;
  fill(colour, [&](double x, double y) {
    const double along = length2 == 0 ? 0 : std::clamp(((x - from.x) * dx + (y - from.y) * dy) / length2, 0.0, 1.0);
    return std::hypot(x - from.x - along * dx, y - from.y - along * dy) - thickness / 2;
  });
}

void Sketch::disc(At centre, double radius, Colour colour) { line(centre, centre, 2 * radius, colour); }

void Sketch::box(At from, At to, Colour colour) {
  const double x0 = std::min(from.x, to.x), x1 = std::max(from.x, to.x);
  const double y0 = std::min(from.y, to.y), y1 = std::max(from.y, to.y);
  fill(colour, [=](double x, double y) { return std::max({x0 - x, x - x1, y0 - y, y - y1}); });
}

}  // namespace kiln::rl
