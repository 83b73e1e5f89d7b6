// Labelled grey images, the items of MNIST and Digits, and batches of them.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "kiln/core/tensor_data.hpp"

namespace kiln {

/// Pixels in row-major order, from 0 (black background) to 1 (full ink).
struct [[nodiscard("a picture is not changed: a new one is returned")]] Image {
  std::vector<float> pixels;  // height * width of them
  std::int64_t height = 0, width = 0;
  std::int64_t label = 0;
};

/// Converts a brightness from 0 to 1 to a byte; values outside are clamped, and NaN gives 0.
inline std::uint8_t byte_of(float bright) {
  return static_cast<std::uint8_t>(bright > 0 ? std::lround(std::min(bright, 1.0f) * 255) : 0);
}

struct ImageBatch {
  TensorData images;   // float32 [batch, height, width]
  TensorData targets;  // int64 [batch]
};

/// Stacks images, each pixel as (pixel - mean) / deviation.
struct ImageBatcher {
  float mean = 0, deviation = 1;

  /// Uses the mean and standard deviation of MNIST's training pixels.
  static ImageBatcher normalized() { return {.mean = 0.1307f, .deviation = 0.3081f}; }

  /// Throws ShapeError if there are no images, or not all have the same size.
  ImageBatch operator()(std::span<const Image> images) const;
};

}  // namespace kiln
