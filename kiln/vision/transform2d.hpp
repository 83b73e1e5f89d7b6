// Projective maps of the plane as values. They move pictures (warp.hpp), boxes and keypoints in the same way, and can
// be composed.
//
//   const auto t = Transform2D::mirrored_across(width) * Transform2D::rotation(15, {width / 2, height / 2});
//
// rotates about the centre first, then mirrors. Positions are those of pictures.hpp: y points down, and the first pixel
// covers 0 to 1.
#pragma once
#include <array>
#include <span>
#include <vector>

#include "kiln/ops/value.hpp"

namespace kiln::vision {

struct Position {
  double x = 0, y = 0;
};

class [[nodiscard("a transform moves nothing: warp(x, transform) does")]] Transform2D {
 public:
  using Matrix = std::array<double, 9>;  // row by row; a position is the column vector (x, y, 1)

  /// The identity.
  Transform2D() : matrix_{1, 0, 0, 0, 1, 0, 0, 0, 1} {}
  /// Throws ArgumentError for a matrix that is not finite.
  explicit Transform2D(const Matrix& matrix);

  static Transform2D translation(double x, double y);
  static Transform2D scaling(double x, double y, const Position& about = {});
  /// A counter-clockwise rotation, as the picture is seen.
  static Transform2D rotation(double degrees, const Position& about = {});
  /// A shear: x += across * y and y += down * x, relative to `about`.
  static Transform2D shear(double across, double down, const Position& about = {});
  /// The map that takes four corners to four others. Throws ArgumentError if three corners of either are collinear.
  static Transform2D perspective(const std::array<Position, 4>& from, const std::array<Position, 4>& to);
  /// Mirrors left and right in a picture of this width, or top and bottom in one of this height.
  static Transform2D mirrored_across(double width) { return Transform2D({-1, 0, width, 0, 1, 0, 0, 0, 1}); }
  static Transform2D mirrored_down(double height) { return Transform2D({1, 0, 0, 0, -1, height, 0, 0, 1}); }
  /// Takes a matrix whose positions count from the centre of the first pixel, as OpenCV's do.
  static Transform2D from_centres(const Matrix& matrix);

  /// Returns the map that applies `first` first, then this one.
  Transform2D operator*(const Transform2D& first) const;
  /// Returns the inverse. Throws ArgumentError if there is none.
  Transform2D inverse() const;
  const Matrix& matrix() const { return matrix_; }

  /// Returns the image of a position; it is infinitely far, or NaN, on the horizon.
  Position operator()(const Position& position) const;
  /// Maps positions [..., 2] of floats: the same shape.
  Value points(const Value& positions) const;
  /// Maps boxes [..., 4] to the smallest boxes around the images of their corners.
  Value boxes(const Value& boxes) const;

 private:
  Matrix matrix_;
};

}  // namespace kiln::vision
