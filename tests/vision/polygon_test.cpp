// Filled polygons against each pixel's own test, by angles.
#include <cmath>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/core/random.hpp"
#include "kiln/vision/polygon.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::vision {
namespace {

/// How often the corners go around a point, counted by the angles between them.
int turns_around(const std::vector<Position>& corners, const Position& p) {
  double sum = 0;
  for (std::size_t i = 0; i < corners.size(); ++i) {
    const Position &a = corners[i], &b = corners[(i + 1) % corners.size()];
    sum += std::remainder(std::atan2(b.y - p.y, b.x - p.x) - std::atan2(a.y - p.y, a.x - p.x), 2 * std::numbers::pi);
  }
  return static_cast<int>(std::lround(sum / (2 * std::numbers::pi)));
}

TEST(FillPolygon, CoversThePixelsThatAreGoneAroundAnOddNumberOfTimes) {
  int inside = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    std::vector<Position> corners;
    for (int i = 3 + static_cast<int>(seed % 6); i > 0; --i)
      corners.push_back({random.uniform(-10, 40), random.uniform(-10, 30)});
    Picture picture = blank(20, 30, 3);
    fill_polygon(picture, corners, {1, 2, 3});
    for (std::int64_t y = 0; y < 20; ++y)
      for (std::int64_t x = 0; x < 30; ++x) {
        const bool is_inside = turns_around(corners, {static_cast<double>(x) + 0.5, static_cast<double>(y) + 0.5}) % 2;
        EXPECT_EQ(picture.at(y, x)[2], is_inside ? 3 : 0) << seed << ": " << x << ' ' << y;
        inside += is_inside;
      }
  }
  EXPECT_GT(inside, 4000);
}

TEST(FillPolygon, LeavesOutWhatIsOutsideAndRefusesCornersThatAreNotFinite) {
  Picture picture = blank(3, 4, 1);
  const auto fill = [&](std::vector<Position> corners) { fill_polygon(picture, corners, {9, 9, 9}); };
  fill({{-1e9, -1e9}, {1e9, -1e9}, {1e9, 1e9}, {-1e9, 1e9}});
  EXPECT_EQ(picture.pixels, std::vector<std::uint8_t>(12, 9));
  picture = blank(3, 4, 1);
  fill({{1, 1}, {2, 2}});
  fill({{50, 50}, {60, 50}, {55, 60}});
  fill({});
  EXPECT_EQ(picture.pixels, std::vector<std::uint8_t>(12, 0));
  EXPECT_EQ(sentence_of([&] { fill({{0, 0}, {1, 0}, {std::nan(""), 1}}); }),
            "ArgumentError: fill_polygon: a corner at nan, 1 is not finite");
  picture.channels = 2;
  picture.width = 2;
  EXPECT_EQ(sentence_of([&] { fill({{0, 0}, {1, 0}, {1, 1}}); }),
            "ShapeError: fill_polygon: a picture of 2 channels; there must be 1 or 3");
}

}  // namespace
}  // namespace kiln::vision
