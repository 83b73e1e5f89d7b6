// Filters of pictures [batch, channels, height, width], channel by channel. Sizes of kernels are [rows, columns]; a
// kernel of an even size is anchored at the pixel after its middle. Results have the shape and element type of x:
// integers are rounded to the nearest, halves to even, and saturate. All but median_blur are correlations, which do not
// flip the kernel.
#pragma once
#include <span>

#include "kiln/vision/pictures.hpp"

namespace kiln::vision {

struct Filter {
  Border border = Border::Reflect101;
  double value = 0;  // the value of a constant border
  double delta = 0;  // added to each result
};

/// Correlates x with kernel [rows, columns]: result[y][x] = sum of kernel[i][j] x[y + i - rows / 2][x + j - columns /
/// 2]. Differentiable in both.
Value filter2d(const Value& x, const Value& kernel, const Filter& options = {});
/// Correlates x with the kernel `down` (a column) times `across` (a row), in two passes.
Value separable_filter(const Value& x, std::span<const double> down, std::span<const double> across,
                       const Filter& options = {});
/// Returns the mean of the rows x columns pixels around each pixel.
Value box_blur(const Value& x, std::int64_t rows, std::int64_t columns, const Filter& options = {});

/// A deviation of 0 is derived from the size, and a size of 0 from the deviation, as in OpenCV.
struct GaussianBlur {
  std::int64_t rows = 0, columns = 0;  // odd
  double sigma_down = 0, sigma_across = 0;
  Border border = Border::Reflect101;
  double value = 0;
};
/// Smooths with a Gaussian kernel. For bytes its weights are multiples of 1 / 256, so that results are OpenCV's to the
/// bit.
Value gaussian_blur(const Value& x, const GaussianBlur& options);
/// Returns exp(-d^2 / (2 sigma^2)) at `size` distances from the centre, scaled to a sum of 1. Throws ArgumentError.
std::vector<double> gaussian_kernel(std::int64_t size, double sigma);

/// Returns the median of the size x size pixels around each; the outermost pixels are repeated beyond the edges. `size`
/// is odd and at most 63. Sizes up to 9 are computed by a network of minima and maxima, whose gradient goes to the
/// median.
Value median_blur(const Value& x, std::int64_t size);

/// Averages the pixels within `radius`, weighted by their distance and by the difference of their colours (Tomasi and
/// Manduchi, "Bilateral filtering for gray and color images", 1998): exp(-distance^2 / (2 sigma_space^2))
/// exp(-difference^2 / (2 sigma_colour^2)). The difference is summed over the channels.
struct BilateralBlur {
  std::int64_t radius = 2;  // at most 64
  double sigma_colour = 0.1, sigma_space = 2;
  Border border = Border::Reflect101;
  double value = 0;
};
Value bilateral_blur(const Value& x, const BilateralBlur& options);

template <class K>
Tensor<4, K> filter2d(const Tensor<4, K>& x, const Tensor<2>& kernel, const Filter& options = {}) {
  return Typed{filter2d(x.value(), kernel.value(), options)};
}
template <class K>
Tensor<4, K> separable_filter(const Tensor<4, K>& x, std::span<const double> down, std::span<const double> across,
                              const Filter& options = {}) {
  return Typed{separable_filter(x.value(), down, across, options)};
}
template <class K>
Tensor<4, K> box_blur(const Tensor<4, K>& x, std::int64_t rows, std::int64_t columns, const Filter& options = {}) {
  return Typed{box_blur(x.value(), rows, columns, options)};
}
template <class K>
Tensor<4, K> gaussian_blur(const Tensor<4, K>& x, const GaussianBlur& options) {
  return Typed{gaussian_blur(x.value(), options)};
}
template <class K>
Tensor<4, K> median_blur(const Tensor<4, K>& x, std::int64_t size) {
  return Typed{median_blur(x.value(), size)};
}
template <class K>
Tensor<4, K> bilateral_blur(const Tensor<4, K>& x, const BilateralBlur& options) {
  return Typed{bilateral_blur(x.value(), options)};
}

}  // namespace kiln::vision
