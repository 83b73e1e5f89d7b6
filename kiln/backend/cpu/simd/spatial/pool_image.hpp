// Averages over windows of one image, and their adjoint. How windows lie in an image.
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "kiln/ops/spatial/pool_ops.hpp"

namespace kiln::cpu::simd {

/// How one image is pooled. Missing spatial dimensions have size 1.
template <class P>
struct ImageWindows {
  using Part = P;
  std::array<std::span<const Part>, 3> parts;  // of each dimension: what its results look at
  std::array<std::int64_t, 3> sizes;           // of the image
  std::array<std::int64_t, 3> image_strides, pooled_strides;
  std::int64_t channels;
};
using ImagePool = ImageWindows<op::AvgPool::Part>;

/// Channels lie beside one another.
void average_channels_last(const ImagePool& pool, const float* image, float* pooled);
void spread_channels_last(const ImagePool& pool, const float* pooled, float* image);
/// One channel, whose last dimension lies without gaps in the image. `row` has room for one row of it.
void average_plane(const ImagePool& pool, const float* image, float* pooled, float* row);
void spread_plane(const ImagePool& pool, const float* pooled, float* image, float* row);

}  // namespace kiln::cpu::simd
