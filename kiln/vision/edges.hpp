// Derivatives of pictures [batch, channels, height, width], each channel by itself, and the edges that they show.
#pragma once
#include "kiln/vision/pictures.hpp"

namespace kiln::vision {

/// Which derivative, and over how many pixels.
struct Derivative {
  int across = 1, down = 0;  // how often in each direction; together 1 or 2
  std::int64_t size = 3;     // 1 (without smoothing), 3, 5 or 7
  double scale = 1;
  Border border = Border::Reflect101;
  double value = 0;  // of a constant border
};
/// Derivatives smoothed by binomial weights. Of integers floats: float32, float64 for more than 16 bits, whose numbers are exact.
Value sobel(const Value& x, const Derivative& options = {});
/// The first derivative over 3 x 3 pixels whose direction is most accurate, weights 3, 10, 3 (Scharr, "Optimal operators in
/// digital image processing", 2000). `across` and `down` are 1 and 0, or 0 and 1; `size` is not asked.
Value scharr(const Value& x, const Derivative& options = {});
/// The sum of the second derivatives; `size` 1 has weights 1, -4, 1. `across` and `down` are not asked.
Value laplacian(const Value& x, const Derivative& options = {.across = 2, .size = 1});

struct Canny {
  double low = 50, high = 100;  // of the gradient's length
  std::int64_t size = 3;        // of the derivatives: 3 or 5
  bool squares = false;         // the length is the root of the sum of squares, and not the sum of magnitudes
};
/// x [batch, 1, height, width] -> booleans of its shape: where the gradient is longer than `low` and the longest across the
/// edge, and the edge somewhere longer than `high` (Canny, "A computational approach to edge detection", 1986). Directions are
/// told apart as in OpenCV, to the bit of bytes. Waits for the device.
Value canny(const Value& x, const Canny& options = {});

template <class K>
Tensor<4> sobel(const Tensor<4, K>& x, const Derivative& options = {}) {
  return Typed{sobel(x.value(), options)};
}
template <class K>
Tensor<4> scharr(const Tensor<4, K>& x, const Derivative& options = {}) {
  return Typed{scharr(x.value(), options)};
}
template <class K>
Tensor<4> laplacian(const Tensor<4, K>& x, const Derivative& options = {.across = 2, .size = 1}) {
  return Typed{laplacian(x.value(), options)};
}
template <class K>
Tensor<4, Bool> canny(const Tensor<4, K>& x, const Canny& options = {}) {
  return Typed{canny(x.value(), options)};
}

}  // namespace kiln::vision
