#include "kiln/data/digits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kiln/data/glyphs.hpp"
#include "kiln/data/pen.hpp"
#include "kiln/data/permutation.hpp"

namespace kiln {
namespace {

using Line = std::vector<Point>;

float between(Random& random, double low, double high) { return static_cast<float>(random.uniform(low, high)); }

/// A normal random number, clipped at two and a half deviations so that all digits are legible.
float about(Random& random, double mean, double deviation) {
  return static_cast<float>(mean + deviation * std::clamp(random.normal(), -2.5, 2.5));
}

/// The points of the curve from b to c, c included, of a Catmull-Rom spline through a, b, c, d; at a corner the
/// curve runs straight in and out.
void append_curve(Line& line, const Knot& a, const Knot& b, const Knot& c, const Knot& d, int steps) {
  const Knot &before = b.corner ? b : a, &after = c.corner ? c : d;
  for (int i = 1; i <= steps; ++i) {
    const float t = static_cast<float>(i) / static_cast<float>(steps), t2 = t * t, t3 = t2 * t;
    const auto at = [&](float p, float q, float r, float s) {
      return q + 0.5f * ((r - p) * t + (2 * p - 5 * q + 4 * r - s) * t2 + (3 * q - p - 3 * r + s) * t3);
    };
    line.push_back({at(before.x, b.x, c.x, after.x), at(before.y, b.y, c.y, after.y)});
  }
}

/// One person's handwriting: moves the knots slightly, then draws the curve through them.
Line trace(Stroke knots, std::int64_t side, Random& random) {
  constexpr double kTremor = 0.02;
  for (Knot& knot : knots) {
    knot.x += about(random, 0, kTremor);
    knot.y += about(random, 0, kTremor);
  }
  Line line = {{knots[0].x, knots[0].y}};
  for (std::size_t i = 0; i + 1 < knots.size(); ++i) {
    const Knot &from = knots[i], &to = knots[i + 1];
    const float pixels = std::hypot(to.x - from.x, to.y - from.y) * static_cast<float>(side);
    const int steps = std::max(2, static_cast<int>(pixels / 1.5f));
    append_curve(line, knots[i == 0 ? 0 : i - 1], from, to, knots[std::min(i + 2, knots.size() - 1)], steps);
  }
  return line;
}

/// A smooth random displacement of the unit square: a few long waves.
class Elastic {
 public:
  explicit Elastic(Random& random) {
    constexpr double kTurn = 6.283185307179586;
    for (Wave& wave : waves_)
      wave = {.by = {about(random, 0, 0.018), about(random, 0, 0.018)},
              .frequency = {about(random, 0, 0.8 * kTurn), about(random, 0, 0.8 * kTurn)},
              .phase = between(random, 0, kTurn)};
  }
  Point operator()(Point p) const {
    Point moved = p;
    for (const Wave& wave : waves_) {
      const float height = std::sin(wave.frequency.x * p.x + wave.frequency.y * p.y + wave.phase);
      moved.x += wave.by.x * height;
      moved.y += wave.by.y * height;
    }
    return moved;
  }

 private:
  struct Wave {
    Point by, frequency;
    float phase;
  };
  std::array<Wave, 4> waves_;
};

/// Rotates, slants and scales about the middle of the unit square; results are in pixels from there.
class Affine {
 public:
  Affine(std::int64_t side, Random& random) {
    const float angle = about(random, 0, 0.13), slant = about(random, 0.10, 0.16);
    const float size = between(random, 0.70, 1.0) * static_cast<float>(side);
    const float width = size * between(random, 0.7, 1.15);
    const float cosine = std::cos(angle), sine = std::sin(angle);
    xx_ = width * cosine, xy_ = size * (-sine - slant * cosine);  // y points down: slanted to the right
    yx_ = width * sine, yy_ = size * (cosine - slant * sine);
  }
  Point operator()(Point p) const {
    const float x = p.x - 0.5f, y = p.y - 0.5f;
    return {xx_ * x + xy_ * y, yx_ * x + yy_ * y};
  }

 private:
  float xx_, xy_, yx_, yy_;
};

/// The smallest and the largest value of one coordinate over all lines.
template <float Point::* Coordinate>
std::array<float, 2> extent(const std::vector<Line>& lines) {
  std::array<float, 2> range = {lines[0][0].*Coordinate, lines[0][0].*Coordinate};
  for (const Line& line : lines)
    for (const Point& point : line)
      range = {std::min(range[0], point.*Coordinate), std::max(range[1], point.*Coordinate)};
  return range;
}

/// Moves the lines along one axis to a random place near the middle of [margin, side - margin]; shrinks them if they
/// are too long for it.
template <float Point::* Coordinate>
void place(std::vector<Line>& lines, float side, float margin, Random& random) {
  const auto [low, high] = extent<Coordinate>(lines);
  const float room = side - 2 * margin, length = high - low;
  const float scale = std::min(1.0f, room / std::max(length, 1e-3f));
  const float slack = (room - length * scale) / 2;
  const float shift = std::clamp(about(random, 0, 0.06) * side, -slack, slack);
  for (Line& line : lines)
    for (Point& point : line) point.*Coordinate = (point.*Coordinate - (low + high) / 2) * scale + side / 2 + shift;
}

/// Adds noise of up to `amplitude` in either direction.
void add_noise(std::span<float> pixels, float amplitude, Random& random) {
  for (float& pixel : pixels) {
    const std::uint32_t word = random.word();
    const float grain = static_cast<float>(word & 0xffffu) - static_cast<float>(word >> 16);  // triangular distribution
    pixel = std::clamp(pixel + amplitude * 0x1p-16f * grain, 0.0f, 1.0f);
  }
}

}  // namespace

Image draw_digit(int digit, std::int64_t side, Random& random) {
  require<ArgumentError>(digit >= 0 && digit <= 9, "draw_digit: ", digit, " is no digit");
  const auto habits = glyphs_of(digit);
  const Glyph& glyph = habits[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(habits.size())))];
  const Affine affine(side, random);
  const Elastic elastic(random);
  std::vector<Line> lines;
  for (const Stroke& stroke : glyph) {
    lines.push_back(trace(stroke, side, random));
    for (Point& point : lines.back()) point = affine(elastic(point));
  }

  const float size = static_cast<float>(side);
  const float radius = between(random, 0.024, 0.065) * size, softness = between(random, 1.0, 1.9);
  const float heavy = 1.15f;  // for where the pen is pressed most
  const float margin = radius * heavy + softness / 2;
  place<&Point::x>(lines, size, margin, random);
  place<&Point::y>(lines, size, margin, random);

  Image image{.pixels = std::vector<float>(static_cast<std::size_t>(side * side)),
              .height = side,
              .width = side,
              .label = digit};
  Canvas canvas(image.pixels, side, side);
  const float ink = between(random, 0.8, 1.1);  // above 1 the middle of a line is saturated
  for (const Line& line : lines) {
    const float begin = between(random, 0.8, heavy), change = between(random, 0.8, heavy) - begin;
    std::vector<PenPoint> path;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const float along = static_cast<float>(i) / static_cast<float>(line.size());
      path.push_back({line[i].x, line[i].y, radius * (begin + along * change)});
    }
    canvas.draw(path, softness, ink);
  }
  add_noise(image.pixels, between(random, 0, 0.2), random);
  return image;
}

Digits::Digits(const DigitsConfig& config) : config_(config) {
  require<ArgumentError>(config.count >= 0, "Digits: count is ", config.count, ", it cannot be negative");
  require<ArgumentError>(config.side >= 8 && config.side <= 4096, "Digits: side is ", config.side,
                         ", it must be 8 to 4096 pixels");
}

Image Digits::item(std::int64_t index) const {
  const Key items = Key{config_.seed}.split(0), labels = Key{config_.seed}.split(1);
  const auto order = permutation(10, labels.split(static_cast<std::uint64_t>(index / 10)));
  Random random(items.split(static_cast<std::uint64_t>(index)));
  return draw_digit(static_cast<int>(order[static_cast<std::size_t>(index % 10)]), config_.side, random);
}

}  // namespace kiln
