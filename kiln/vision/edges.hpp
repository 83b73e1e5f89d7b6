// Derivatives of pictures [batch, channels, height, width], channel by channel, and edge detection.
#pragma once
#include "kiln/vision/pictures.hpp"

namespace kiln::vision {

/// Chooses a derivative and the number of pixels that it covers.
struct Derivative {
  int across = 1, down = 0;  // the order in each direction; the sum is 1 or 2
  std::int64_t size = 3;     // 1 (without smoothing), 3, 5 or 7
  double scale = 1;
  Border border = Border::Reflect101;
  double value = 0;  // the value of a constant border
};
/// Returns derivatives smoothed by binomial weights (Sobel). Integers give floats: float32, and float64 for more than
/// 16 bits, in which the numbers are exact.
Value sobel(const Value& x, const Derivative& options = {});
/// Returns the first derivative over 3 x 3 pixels whose direction is most accurate, with the weights 3, 10, 3 (Scharr,
/// "Optimal operators in digital image processing", 2000). `across` and `down` must be 1 and 0, or 0 and 1; `size` is
/// ignored.
Value scharr(const Value& x, const Derivative& options = {});
/// Returns the sum of the second derivatives; `size` 1 has the weights 1, -4, 1. `across` and `down` are ignored.
Value laplacian(const Value& x, const Derivative& options = {.across = 2, .size = 1});

struct Canny {
  double low = 50, high = 100;  // thresholds of the gradient's length
  std::int64_t size = 3;        // the size of the derivatives: 3 or 5
  bool squares = false;         // the length is the root of the sum of squares instead of the sum of magnitudes
};
/// Detects edges in x [batch, 1, height, width]: booleans of its shape. A pixel is on an edge where its gradient is
/// longer than `low` and the longest one across the edge, and the edge has a pixel somewhere whose gradient is longer
/// than `high` (Canny, "A computational approach to edge detection", 1986). Directions are distinguished as in OpenCV,
/// for bytes to the bit. Waits for the device.
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
