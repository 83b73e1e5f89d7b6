#include "kiln/vision/transform2d.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kiln/ops/check.hpp"
#include "kiln/ops/functions.hpp"

namespace kiln::vision {
namespace {

using Matrix = Transform2D::Matrix;

Transform2D around(const Matrix& matrix, const Position& about) {
  return Transform2D::translation(about.x, about.y) * Transform2D(matrix) *
         Transform2D::translation(-about.x, -about.y);
}

Matrix cofactors_transposed(const Matrix& m) {
  return {m[4] * m[8] - m[5] * m[7], m[2] * m[7] - m[1] * m[8], m[1] * m[5] - m[2] * m[4],
          m[5] * m[6] - m[3] * m[8], m[0] * m[8] - m[2] * m[6], m[2] * m[3] - m[0] * m[5],
          m[3] * m[7] - m[4] * m[6], m[1] * m[6] - m[0] * m[7], m[0] * m[4] - m[1] * m[3]};
}

/// Returns the map that takes the corners (0, 0), (1, 0), (1, 1), (0, 1) to these (Heckbert, "Fundamentals of texture
/// mapping and image warping", 1989).
Transform2D from_unit_square(const std::array<Position, 4>& p) {
  const double dx = p[0].x - p[1].x + p[2].x - p[3].x, dy = p[0].y - p[1].y + p[2].y - p[3].y;
  const double ax = p[1].x - p[2].x, bx = p[3].x - p[2].x, ay = p[1].y - p[2].y, by = p[3].y - p[2].y;
  const double area = ax * by - bx * ay;
  const double g = (dx * by - bx * dy) / area, h = (ax * dy - dx * ay) / area;
  return Transform2D({p[1].x - p[0].x + g * p[1].x, p[3].x - p[0].x + h * p[3].x, p[0].x, p[1].y - p[0].y + g * p[1].y,
                      p[3].y - p[0].y + h * p[3].y, p[0].y, g, h, 1});
}

void require_corners(const std::array<Position, 4>& p) {
  for (std::size_t skipped = 0; skipped < 4; ++skipped) {
    const Position &a = p[(skipped + 1) % 4], &b = p[(skipped + 2) % 4], &c = p[(skipped + 3) % 4];
    const double ux = b.x - a.x, uy = b.y - a.y, vx = c.x - a.x, vy = c.y - a.y, area = ux * vy - uy * vx;
    require<ArgumentError>(std::abs(area) > 1e-12 * (std::hypot(ux, uy) * std::hypot(vx, vy)),
                           "perspective: three of the corners lie on a line, or one is not finite: (", a.x, ", ", a.y,
                           "), (", b.x, ", ", b.y, "), (", c.x, ", ", c.y, ")");
  }
}

}  // namespace

Transform2D::Transform2D(const Matrix& matrix) : matrix_(matrix) {
  for (const double number : matrix)
    require<ArgumentError>(std::isfinite(number), "Transform2D: ", number, " in the matrix is not finite");
}

Transform2D Transform2D::translation(double x, double y) { return Transform2D({1, 0, x, 0, 1, y, 0, 0, 1}); }

Transform2D Transform2D::scaling(double x, double y, const Position& about) {
  return around({x, 0, 0, 0, y, 0, 0, 0, 1}, about);
}

Transform2D Transform2D::rotation(double degrees, const Position& about) {
  const double angle = degrees * std::numbers::pi / 180, c = std::cos(angle), s = std::sin(angle);
  return around({c, s, 0, -s, c, 0, 0, 0, 1}, about);
}

Transform2D Transform2D::shear(double across, double down, const Position& about) {
  return around({1, across, 0, down, 1, 0, 0, 0, 1}, about);
}

Transform2D Transform2D::perspective(const std::array<Position, 4>& from, const std::array<Position, 4>& to) {
  require_corners(from);
  require_corners(to);
  return from_unit_square(to) * from_unit_square(from).inverse();
}

Transform2D Transform2D::from_centres(const Matrix& matrix) {
  return translation(0.5, 0.5) * Transform2D(matrix) * translation(-0.5, -0.5);
}

Transform2D Transform2D::operator*(const Transform2D& first) const {
  Matrix product{};
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t column = 0; column < 3; ++column)
      for (std::size_t i = 0; i < 3; ++i)
        product[3 * row + column] += matrix_[3 * row + i] * first.matrix_[3 * i + column];
  return Transform2D(product);
}

Transform2D Transform2D::inverse() const {
  Matrix other = cofactors_transposed(matrix_);
  const double determinant = matrix_[0] * other[0] + matrix_[1] * other[3] + matrix_[2] * other[6];
  double size = 0;  // the magnitude of the terms of the determinant
  for (std::size_t i = 0; i < 3; ++i) size += std::abs(matrix_[i] * other[3 * i]);
  require<ArgumentError>(std::isfinite(determinant) && std::abs(determinant) > 1e-14 * size,
                         "inverse: the map takes the plane to a line: its determinant is ", determinant);
  for (double& number : other) number /= determinant;
  return Transform2D(other);
}

Position Transform2D::operator()(const Position& p) const {
  const double w = matrix_[6] * p.x + matrix_[7] * p.y + matrix_[8];
  return {(matrix_[0] * p.x + matrix_[1] * p.y + matrix_[2]) / w,
          (matrix_[3] * p.x + matrix_[4] * p.y + matrix_[5]) / w};
}

namespace {

/// Returns the images of positions (x, y), each a value of any shape.
std::pair<Value, Value> moved(const Matrix& m, const Value& x, const Value& y) {
  const auto row = [&](std::size_t i) { return x * m[i] + y * m[i + 1] + m[i + 2]; };
  if (m[6] == 0 && m[7] == 0 && m[8] == 1) return {row(0), row(3)};
  const Value w = row(6);
  return {row(0) / w, row(3) / w};
}

}  // namespace

Value Transform2D::points(const Value& positions) const {
  op::require_float("points", positions);
  require<ShapeError>(positions.rank() >= 1 && positions.dim(-1) == 2, "points: positions are [..., 2], got ",
                      positions.shape());
  const auto [x, y] = moved(matrix_, at(positions, -1, 0), at(positions, -1, 1));
  return stack(Values{x, y}, -1);
}

Value Transform2D::boxes(const Value& boxes) const {
  op::require_float("boxes", boxes);
  require<ShapeError>(boxes.rank() >= 1 && boxes.dim(-1) == 4, "boxes: boxes are [..., 4], got ", boxes.shape());
  const auto number = [&](int i) { return at(boxes, -1, i); };
  const Value x = stack(Values{number(0), number(2), number(0), number(2)}, -1);
  const Value y = stack(Values{number(1), number(1), number(3), number(3)}, -1);
  const auto [to_x, to_y] = moved(matrix_, x, y);
  return stack(Values{min(to_x, {-1}), min(to_y, {-1}), max(to_x, {-1}), max(to_y, {-1})}, -1);
}

}  // namespace kiln::vision
