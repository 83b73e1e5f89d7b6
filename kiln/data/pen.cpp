#include "kiln/data/pen.hpp"

#include <algorithm>
#include <cmath>

namespace kiln {

void Canvas::draw(std::span<const PenPoint> line, float softness, float ink) {
  for (std::size_t i = 1; i < line.size(); ++i) draw_segment(line[i - 1], line[i], softness, ink);
}

void Canvas::draw_segment(const PenPoint& from, const PenPoint& to, float softness, float ink) {
  const float reach = std::max(from.radius, to.radius) + softness / 2;
  const auto first = [&](float a, float b) {
    return static_cast<std::int64_t>(std::max(std::floor(std::min(a, b) - reach - 0.5f), 0.0f));
  };
  const auto last = [&](float a, float b, std::int64_t size) {
    return std::min(static_cast<std::int64_t>(std::ceil(std::max(a, b) + reach)), size);
  };
  const float dx = to.x - from.x, dy = to.y - from.y;
  const float inverse_length2 = 1 / std::max(dx * dx + dy * dy, 1e-12f);
  const std::int64_t left = first(from.x, to.x), right = last(from.x, to.x, width_);
  for (std::int64_t row = first(from.y, to.y), end = last(from.y, to.y, height_); row < end; ++row) {
    float* const pixels = pixels_.data() + row * width_;
    const float y = static_cast<float>(row) + 0.5f - from.y;
    for (std::int64_t column = left; column < right; ++column) {
      const float x = static_cast<float>(column) + 0.5f - from.x;
      const float along = std::clamp((x * dx + y * dy) * inverse_length2, 0.0f, 1.0f);
      const float off_x = x - along * dx, off_y = y - along * dy;
      const float distance = std::sqrt(off_x * off_x + off_y * off_y);
      const float radius = from.radius + along * (to.radius - from.radius);
      const float coverage = std::clamp((radius - distance) / softness + 0.5f, 0.0f, 1.0f);
      pixels[column] = std::max(pixels[column], ink * coverage);
    }
  }
}

}  // namespace kiln
