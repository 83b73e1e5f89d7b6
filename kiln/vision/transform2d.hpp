// Projective maps of the plane, as values: where the points of a picture go. They move pictures (warp.hpp), boxes and keypoints
// alike, and compose.
//
//   const auto t = Transform2D::mirrored_across(width) * Transform2D::rotation(15, {width / 2, height / 2});
//
// turns about the middle first, then mirrors. Positions are those of pictures.hpp: y runs down, the first pixel covers 0 to 1.
#pragma once
#include <array>
#include <span>
#include <vector>

#include "kiln/ops/value.hpp"

namespace kiln::vision {

struct Position {
  double x = 0, y = 0;
};

class Transform2D {
 public:
  using Matrix = std::array<double, 9>;  // row after row; a position is the column (x, y, 1)

  /// Nothing moves.
  Transform2D() : matrix_{1, 0, 0, 0, 1, 0, 0, 0, 1} {}
  /// Throws ArgumentError for a matrix that is not finite.
  explicit Transform2D(const Matrix& matrix);

  static Transform2D translation(double x, double y);
  static Transform2D scaling(double x, double y, const Position& about = {});
  /// Counter-clockwise, as one sees it.
  static Transform2D rotation(double degrees, const Position& about = {});
  /// x += across * y, y += down * x, from `about`.
  static Transform2D shear(double across, double down, const Position& about = {});
  /// The map that takes four corners to four others. Throws ArgumentError where three of either lie on a line.
  static Transform2D perspective(const std::array<Position, 4>& from, const std::array<Position, 4>& to);
  /// Left becomes right in a picture of this width; top becomes bottom in one of this height.
  static Transform2D mirrored_across(double width) { return Transform2D({-1, 0, width, 0, 1, 0, 0, 0, 1}); }
  static Transform2D mirrored_down(double height) { return Transform2D({1, 0, 0, 0, -1, height, 0, 0, 1}); }
  /// A matrix that counts positions from the middle of the first pixel, as OpenCV's do.
  static Transform2D from_centres(const Matrix& matrix);

  /// First `first`, then this.
  Transform2D operator*(const Transform2D& first) const;
  /// Throws ArgumentError where there is none.
  Transform2D inverse() const;
  const Matrix& matrix() const { return matrix_; }

  /// Where a position goes; infinitely far, or NaN, on the horizon.
  Position operator()(const Position& position) const;
  /// [..., 2] of floats -> the same shape.
  Value points(const Value& positions) const;
  /// [..., 4] -> the smallest boxes around where the corners of boxes go.
  Value boxes(const Value& boxes) const;

 private:
  Matrix matrix_;
};

}  // namespace kiln::vision
