#include "kiln/data/digits.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

#include <gtest/gtest.h>

#include "kiln/data/glyphs.hpp"
#include "kiln/data/pen.hpp"

#include "tests/data/raised.hpp"

namespace kiln {
namespace {

using test::raised;

TEST(Digits, AreImagesBetweenZeroAndOne) {
  const Digits digits({.count = 500, .seed = 1});
  for (std::int64_t i = 0; i < digits.size(); ++i) {
    const Image image = digits.get(i);
    ASSERT_EQ(image.height, 28);
    ASSERT_EQ(image.width, 28);
    ASSERT_EQ(image.pixels.size(), 784u);
    for (const float pixel : image.pixels) ASSERT_TRUE(pixel >= 0 && pixel <= 1) << i;
  }
}

TEST(Digits, HaveEveryLabelOnceInEachTen) {
  const Digits digits({.count = 205, .seed = 4});
  int same_order = 0;
  for (std::int64_t ten = 0; ten < 20; ++ten) {
    std::vector<std::int64_t> labels;
    for (std::int64_t i = 0; i < 10; ++i) labels.push_back(digits.get(10 * ten + i).label);
    same_order += std::is_sorted(labels.begin(), labels.end());
    std::sort(labels.begin(), labels.end());
    EXPECT_EQ(labels, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  }
  EXPECT_LT(same_order, 2);
}

TEST(Digits, DependOnSeedAndIndexAlone) {
  const Digits few({.count = 10, .seed = 5}), many({.count = 100'000, .seed = 5}), other({.count = 10, .seed = 6});
  for (std::int64_t i = 9; i >= 0; --i) {
    EXPECT_EQ(few.get(i).pixels, many.get(i).pixels);
    EXPECT_EQ(few.get(i).label, many.get(i).label);
    EXPECT_NE(few.get(i).pixels, other.get(i).pixels);
  }
  EXPECT_NE(many.get(0).pixels, many.get(50'000).pixels);
}

TEST(Digits, AreDrawnBySeveralThreadsAtOnce) {
  const Digits digits({.count = 200, .seed = 5});
  std::vector<std::vector<float>> drawn(2);
  {
    std::vector<std::jthread> threads;
    for (auto& pixels : drawn)
      threads.emplace_back([&digits, &pixels] {
        for (std::int64_t i = 0; i < digits.size(); ++i) {
          const Image image = digits.get(i);
          pixels.insert(pixels.end(), image.pixels.begin(), image.pixels.end());
        }
      });
  }
  EXPECT_EQ(drawn[0], drawn[1]);
}

TEST(Digits, LieAroundTheMiddleAndNotAlwaysInIt) {
  const Digits digits({.count = 400, .seed = 2});
  int left = 0, above = 0;  // of the middle
  double x = 0, y = 0;
  for (std::int64_t i = 0; i < digits.size(); ++i) {
    const Image image = digits.get(i);
    std::int64_t first_x = 28, last_x = 0, first_y = 28, last_y = 0;
    for (std::int64_t at = 0; at < 28 * 28; ++at) {
      if (image.pixels[static_cast<std::size_t>(at)] < 0.5f) continue;
      first_x = std::min(first_x, at % 28), last_x = std::max(last_x, at % 28);
      first_y = std::min(first_y, at / 28), last_y = std::max(last_y, at / 28);
    }
    left += first_x + last_x < 27, above += first_y + last_y < 27;
    x += static_cast<double>(first_x + last_x - 27) / 2, y += static_cast<double>(first_y + last_y - 27) / 2;
  }
  EXPECT_NEAR(x / 400, 0, 0.5);
  EXPECT_NEAR(y / 400, 0, 0.5);
  EXPECT_TRUE(left > 80 && left < 320) << left;
  EXPECT_TRUE(above > 80 && above < 320) << above;
}

TEST(Digits, FillTheImageAtAnySize) {
  for (const std::int64_t side : {8, 28, 64, 200}) {
    const Digits digits({.count = 20, .seed = 2, .side = side});
    for (std::int64_t i = 0; i < digits.size(); ++i) {
      const Image image = digits.get(i);
      ASSERT_EQ(static_cast<std::int64_t>(image.pixels.size()), side * side);
      // Half full ink marks the strokes: the noise stays below.
      std::int64_t top = side, bottom = -1, inked = 0;
      for (std::int64_t at = 0; at < side * side; ++at) {
        if (image.pixels[static_cast<std::size_t>(at)] < 0.4f) continue;
        ++inked;
        top = std::min(top, at / side);
        bottom = std::max(bottom, at / side);
      }
      EXPECT_GT(bottom - top, side * 2 / 5) << side << ": " << i;
      EXPECT_GT(inked, side * side / 50) << side << ": " << i;
      EXPECT_LT(inked, side * side / 2) << side << ": " << i;
    }
  }
}

TEST(Digits, KeepTheirInkOffTheBorder) {
  // A pixel on the border has its centre half a pixel inside: there ink has faded to 0.55, noise may add 0.2.
  const Digits digits({.count = 2000, .seed = 8});
  for (std::int64_t i = 0; i < digits.size(); ++i) {
    const Image image = digits.get(i);
    for (std::int64_t k = 0; k < 28; ++k)
      for (const std::int64_t at : {k, 27 * 28 + k, 28 * k, 28 * k + 27})
        ASSERT_LT(image.pixels[static_cast<std::size_t>(at)], 0.75f) << i;
  }
}

TEST(Digits, OfDifferentClassesDifferMoreThanOfOne) {
  // The nearest mean image of a class tells most digits, but not all: that takes a model.
  const Digits train({.count = 2000, .seed = 1}), test({.count = 500, .seed = 2});
  std::vector<std::vector<double>> mean(10, std::vector<double>(784));
  for (std::int64_t i = 0; i < train.size(); ++i) {
    const Image image = train.get(i);
    for (std::size_t k = 0; k < 784; ++k) mean[static_cast<std::size_t>(image.label)][k] += image.pixels[k] / 200.0;
  }
  int right = 0;
  for (std::int64_t i = 0; i < test.size(); ++i) {
    const Image image = test.get(i);
    const auto distance = [&](const std::vector<double>& to) {
      double sum = 0;
      for (std::size_t k = 0; k < 784; ++k) sum += (image.pixels[k] - to[k]) * (image.pixels[k] - to[k]);
      return sum;
    };
    const auto nearest = std::min_element(mean.begin(), mean.end(),
                                          [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
    right += nearest - mean.begin() == image.label;
  }
  EXPECT_GT(right, 500 * 6 / 10);
  EXPECT_LT(right, 500 * 95 / 100);
}

TEST(Digits, RefuseAConfigurationWithoutMeaning) {
  EXPECT_EQ(raised<ArgumentError>([] { Digits({.count = -1}); }), "Digits: count is -1, it cannot be negative");
  EXPECT_EQ(raised<ArgumentError>([] { Digits({.side = 7}); }), "Digits: side is 7, it must be 8 to 4096 pixels");
  EXPECT_EQ(raised<ArgumentError>([] {
              Random random(1);
              draw_digit(10, 28, random);
            }),
            "draw_digit: 10 is no digit");
  EXPECT_EQ(raised<IndexError>([] { Digits({.count = 0}).get(0); }), "data set: item 0 of 0 does not exist");
}

TEST(Glyphs, LieInTheUnitSquare) {
  for (int digit = 0; digit < 10; ++digit) {
    EXPECT_GE(glyphs_of(digit).size(), 2u);
    for (const Glyph& glyph : glyphs_of(digit))
      for (const Stroke& stroke : glyph) {
        EXPECT_GE(stroke.size(), 2u);
        for (const Knot& knot : stroke) EXPECT_TRUE(knot.x > 0.1f && knot.x < 0.9f && knot.y >= 0.1f && knot.y <= 0.9f);
      }
  }
}

TEST(Canvas, CoversPixelsByTheirDistanceFromTheLine) {
  std::vector<float> pixels(7 * 9);
  Canvas canvas(pixels, 7, 9);
  const PenPoint line[] = {{2.5f, 3.5f, 1.25f}, {6.5f, 3.5f, 1.25f}};
  canvas.draw(line, 1, 1);
  for (int row = 0; row < 7; ++row)
    for (int column = 0; column < 9; ++column) {
      const double x = column + 0.5, y = row + 0.5;
      const double distance = std::hypot(x - std::clamp(x, 2.5, 6.5), y - 3.5);
      EXPECT_NEAR(pixels[static_cast<std::size_t>(row * 9 + column)], std::clamp(1.25 - distance + 0.5, 0.0, 1.0),
                  1e-5);
    }
}

TEST(Canvas, DrawsOnlyInsideTheImage) {
  std::vector<float> pixels(25);
  Canvas canvas(pixels, 5, 5);
  const PenPoint line[] = {{-40, -40, 3}, {40, 40, 3}, {40, -40, 3}};
  canvas.draw(line, 1, 0.5f);
  for (int i = 0; i < 5; ++i) EXPECT_FLOAT_EQ(pixels[static_cast<std::size_t>(i * 6)], 0.5f);
}

}  // namespace
}  // namespace kiln
