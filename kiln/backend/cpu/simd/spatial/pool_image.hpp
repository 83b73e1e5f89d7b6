// The windows of an image, averages over them, and the adjoint of these averages.
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "kiln/ops/spatial/pool_ops.hpp"

namespace kiln::cpu::simd {

/// The windows of one image. Missing spatial dimensions have size 1.
template <class P>
struct ImageWindows {
  using Part = P;
  std::array<std::span<const Part>, 3> parts;  // for each dimension, the range that each result reads
  std::array<std::int64_t, 3> sizes;           // the sizes of the image
  std::array<std::int64_t, 3> image_strides, pooled_strides;
  std::int64_t channels;
};
using ImagePool = ImageWindows<op::AvgPool::WindowPart>;

/// Averages over windows, and their adjoint, of all channels of a channels-last image or of one channel (a plane). The
/// last dimension of a plane must be contiguous; `row` is scratch memory for one row of it.
struct AverageKernels {
  void (*average)(const ImagePool& pool, const float* image, float* pooled);
  void (*spread)(const ImagePool& pool, const float* pooled, float* image);
  void (*average_plane)(const ImagePool& pool, const float* image, float* pooled, float* row);
  void (*spread_plane)(const ImagePool& pool, const float* pooled, float* image, float* row);
};
/// Returns the functions for the instruction set of this machine.
const AverageKernels& average_kernels();

}  // namespace kiln::cpu::simd
