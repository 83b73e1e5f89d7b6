// The greatest elements of the windows of one image, and their indices.
#pragma once
#include "kiln/backend/cpu/simd/spatial/pool_image.hpp"

namespace kiln::cpu::simd {

using ImageMax = ImageWindows<op::MaxPool::WindowPart>;

/// The results. `indices` are indices in the flattened image; they may be null. Both arrays have the same layout.
struct MaxResult {
  float* values;
  std::int64_t* indices;
};

/// Computes rows [begin, end) of the results, where the first two dimensions are flattened into rows. Image and result
/// are channels-last.
void max_channels_last(const ImageMax& pool, const float* image, MaxResult found, std::int64_t begin, std::int64_t end);
/// The number of planes, and the distances between them in the image and in the result. Each plane is a channel.
struct Planes {
  std::int64_t count, image_stride, pooled_stride;
};
/// Computes the results of planes. The last dimension of image and result must be contiguous.
void max_planes(const ImageMax& pool, Planes planes, const float* image, MaxResult found);

}  // namespace kiln::cpu::simd
