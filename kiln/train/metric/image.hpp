// Similarity of images [batch, channels, height, width].
#pragma once
#include "kiln/tensor/tensor.hpp"
#include "kiln/train/metric/metric.hpp"

namespace kiln::metric {

/// Peak signal to noise ratio in decibels, over all elements of all images: 10 log10(range^2 / mean squared error).
struct Psnr {
  double range = 1;  // range of the elements: 1, or 255
  Total squares{}, count{};

  /// Throws ShapeError.
  void update(const Tensor<4>& images, const Tensor<4>& targets);
  /// Infinity if all images are equal.
  double value() const;
};

/// The mean over images of their structural similarity (Wang, Bovik, Sheikh, Simoncelli, "Image quality assessment:
/// from error visibility to structural similarity", 2004): Gaussian windows of 11 x 11 with a deviation of 1.5, without
/// padding.
struct Ssim {
  double range = 1;
  Total sum{}, count{};

  /// Throws ShapeError, also for an image smaller than a window.
  void update(const Tensor<4>& images, const Tensor<4>& targets);
  double value() const { return mean("ssim", sum, count); }
};

/// Structural similarity at five scales, each half the size of the one before (Wang, Simoncelli, Bovik, "Multiscale
/// structural similarity for image quality assessment", 2003). Images have at least 161 x 161 elements; a negative
/// similarity at a scale counts as 0.
struct MsSsim {
  double range = 1;
  Total sum{}, count{};

  void update(const Tensor<4>& images, const Tensor<4>& targets);
  double value() const { return mean("ms-ssim", sum, count); }
};

}  // namespace kiln::metric
