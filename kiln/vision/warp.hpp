// Moves and resizes pictures [batch, channels, height, width]. Results have the element type of x: integers are
// interpolated as floats and rounded.
#pragma once
#include "kiln/ops/spatial/interpolation.hpp"
#include "kiln/vision/pictures.hpp"
#include "kiln/vision/transform2d.hpp"

namespace kiln::vision {

struct Warp {
  std::int64_t height = 0, width = 0;          // the size of the result; 0: that of x
  Interpolation mode = Interpolation::Linear;  // Nearest, Linear or Cubic
  Border border = Border::Constant;
  double value = 0;  // the value of a constant border
};
/// Applies `transform` to x: each pixel of the result is read where the inverse map puts its centre.
Value warp(const Value& x, const Transform2D& transform, const Warp& options = {});
/// Warps x by matrices [batch, 3, 3] of floats, or [1, 3, 3], that map positions in the result to positions in x: the
/// inverse of the transform. It is differentiable in both.
Value warp(const Value& x, const Value& matrices, const Warp& options = {});

struct Resize {
  Interpolation mode = Interpolation::Linear;  // Area: each pixel is the mean of those that it covers, in fractions
  bool antialias = false;                      // smooth where a picture shrinks, as Pillow does
};
Value resize(const Value& x, std::int64_t height, std::int64_t width, const Resize& options = {});

/// Returns a part of the pictures. Throws IndexError unless it lies in them.
Value crop(const Value& x, std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width);
/// Returns the central part.
Value centre_crop(const Value& x, std::int64_t height, std::int64_t width);
Value flip_across(const Value& x);  // mirrors left and right
Value flip_down(const Value& x);    // mirrors top and bottom

template <class K>
Tensor<4, K> warp(const Tensor<4, K>& x, const Transform2D& transform, const Warp& options = {}) {
  return Typed{warp(x.value(), transform, options)};
}
template <class K>
Tensor<4, K> warp(const Tensor<4, K>& x, const Tensor<3>& matrices, const Warp& options = {}) {
  return Typed{warp(x.value(), matrices.value(), options)};
}
template <class K>
Tensor<4, K> resize(const Tensor<4, K>& x, std::int64_t height, std::int64_t width, const Resize& options = {}) {
  return Typed{resize(x.value(), height, width, options)};
}
template <class K>
Tensor<4, K> crop(const Tensor<4, K>& x, std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width) {
  return Typed{crop(x.value(), top, left, height, width)};
}
template <class K>
Tensor<4, K> centre_crop(const Tensor<4, K>& x, std::int64_t height, std::int64_t width) {
  return Typed{centre_crop(x.value(), height, width)};
}
template <class K>
Tensor<4, K> flip_across(const Tensor<4, K>& x) {
  return Typed{flip_across(x.value())};
}
template <class K>
Tensor<4, K> flip_down(const Tensor<4, K>& x) {
  return Typed{flip_down(x.value())};
}

}  // namespace kiln::vision
