// The greatest elements of the windows of one image, and where they are.
#pragma once
#include "kiln/backend/cpu/simd/spatial/pool_image.hpp"

namespace kiln::cpu::simd {

using ImageMax = ImageWindows<op::MaxPool::Part>;

/// What is found; `indices`, in the flattened image, may be absent. Both lie alike.
struct Found {
  float* values;
  std::int64_t* indices;
};

/// Results [begin, end) of the first two dimensions, counted together; channels lie beside one another.
void greatest_channels_last(const ImageMax& pool, const float* image, Found found, std::int64_t begin,
                            std::int64_t end);
/// Channels that follow one another: how many, and how far apart.
struct Planes {
  std::int64_t count, image_stride, pooled_stride;
};
/// The last dimension of image and result lies without gaps.
void greatest_planes(const ImageMax& pool, Planes planes, const float* image, Found found);

}  // namespace kiln::cpu::simd
