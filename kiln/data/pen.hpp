// Draws lines with a round pen of varying width into a grey image, anti-aliased.
#pragma once
#include <cstdint>
#include <span>

namespace kiln {

struct Point {
  float x, y;
};

/// A place that the pen passes, in pixels: pixel (column, row) has its centre at (column + 0.5, row + 0.5).
struct PenPoint {
  float x, y;
  float radius;
};

class Canvas {
 public:
  /// Draws into `pixels`, row-major [height, width], where they are darker than the ink.
  Canvas(std::span<float> pixels, std::int64_t height, std::int64_t width)
      : pixels_(pixels), height_(height), width_(width) {}

  /// A line through the points. The edge of the ink fades over `softness` pixels, 1 for a crisp one; full ink is `ink`.
  void draw(std::span<const PenPoint> line, float softness, float ink);

 private:
  void draw_segment(const PenPoint& from, const PenPoint& to, float softness, float ink);

  std::span<float> pixels_;
  std::int64_t height_, width_;
};

}  // namespace kiln
