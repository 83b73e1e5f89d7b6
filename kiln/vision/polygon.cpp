#include "kiln/vision/polygon.hpp"

#include <algorithm>
#include <cmath>

#include "kiln/core/error/error.hpp"

namespace kiln::vision {
namespace {

/// The first pixel of a line of `size` whose middle is not before `at`.
std::int64_t first_from(double at, std::int64_t size) {
  return static_cast<std::int64_t>(std::ceil(std::clamp(at - 0.5, 0.0, static_cast<double>(size))));
}

/// The places at which the sides cross the horizontal line at y, in ascending order.
std::vector<double> crossings(std::span<const Position> corners, double y) {
  std::vector<double> found;
  for (std::size_t i = 0; i < corners.size(); ++i) {
    const Position &a = corners[i], &b = corners[(i + 1) % corners.size()];
    if ((a.y <= y) != (b.y <= y)) found.push_back(a.x + (y - a.y) / (b.y - a.y) * (b.x - a.x));
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

void fill_polygon(Picture& picture, std::span<const Position> corners, const Colour& colour) {
  require_sound("fill_polygon", picture);
  require<ShapeError>(picture.channels == 1 || picture.channels == 3, "fill_polygon: a picture of ", picture.channels,
                      " channels; there must be 1 or 3");
  for (const Position& corner : corners)
    for (const double place : {corner.x, corner.y}) {
      constexpr double kFarthest = 1e15;  // products of two distances are finite
      require<ArgumentError>(std::abs(place) <= kFarthest, "fill_polygon: a corner at ", corner.x, ", ", corner.y,
                             std::isfinite(place) ? " is too far away" : " is not finite");
    }
  if (corners.size() < 3) return;
  const auto [top, bottom] = std::ranges::minmax_element(corners, {}, &Position::y);
  const std::int64_t last = first_from(bottom->y, picture.height);
  for (std::int64_t row = first_from(top->y, picture.height); row < last; ++row) {
    const double y = static_cast<double>(row) + 0.5;
    const std::vector<double> found = crossings(corners, y);
    for (std::size_t i = 0; i + 1 < found.size(); i += 2)
      fill_rectangle(picture, found[i], y - 0.25, found[i + 1], y + 0.25, colour);
  }
}

}  // namespace kiln::vision
