// Draws anti-aliased lines into a grey image, with a round pen of varying width.
#pragma once
#include <cstdint>
#include <span>

namespace kiln {

struct Point {
  float x, y;
};

/// A point of the pen's path, in pixels: pixel (column, row) has its centre at (column + 0.5, row + 0.5).
struct PenPoint {
  float x, y;
  float radius;
};

class Canvas {
 public:
  /// Draws into `pixels`, row-major [height, width], wherever the ink is brighter than they are.
  Canvas(std::span<float> pixels, std::int64_t height, std::int64_t width)
      : pixels_(pixels), height_(height), width_(width) {}

  /// Draws a line through the points. Its edge fades over `softness` pixels, 1 for a sharp one; `ink` is the full
  /// brightness.
  void draw(std::span<const PenPoint> line, float softness, float ink);

 private:
  void draw_segment(const PenPoint& from, const PenPoint& to, float softness, float ink);

  std::span<float> pixels_;
  std::int64_t height_, width_;
};

}  // namespace kiln
