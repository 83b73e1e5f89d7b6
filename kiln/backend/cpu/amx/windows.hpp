// Which pixels of a convolution's operands belong together: under each tap of the kernel, a pixel of one operand is
// paired with one of the other, or with the padding.
#pragma once
#include <array>
#include <vector>

#include "kiln/backend/cpu/conv/geometry.hpp"

namespace kiln::cpu::amx {

/// The pixels of all images, in lines along the last of three axes; axes that a convolution lacks have size 1.
struct Pixels {
  std::array<std::int64_t, 3> sizes;

  static Pixels of(const Spatial& sizes);
  std::int64_t image() const { return sizes[0] * sizes[1] * sizes[2]; }
};

/// Pixel i of an axis is paired with pixel i * scale + offset of the other image.
struct Steps {
  std::array<std::int64_t, 3> scale, offset;
};

/// Sets addresses[i] to the numbers of the pixel that is paired with pixel first + i of `pixels`, counted through all
/// images. Each pixel of `to` has `numbers` numbers, and its first pixel is at `data`. `outside` stands for pixels
/// outside of it.
template <class T>
void find(const Pixels& pixels, const Pixels& to, const Steps& steps, std::int64_t first, std::int64_t count, T* data,
          std::int64_t numbers, T* outside, T** addresses);

/// A convolution, or the part of its adjoint that computes the pixels of x with the same remainder by the stride: all
/// of them read the same taps of the kernel, in windows that are side by side.
struct WindowSet {
  Pixels results;                    // the pixels that are computed
  Steps in_result;                   // their positions in the whole result
  std::vector<Steps> places;         // for each tap of the kernel: the position of the pixels that it multiplies
  std::vector<std::int64_t> kernel;  // the index of each tap
};

/// Pairs the pixels of y with the pixels of x that they are computed from.
WindowSet forward_windows(const conv::Geometry& g);
/// Pairs the pixels of x with those of y, in as many sets as the stride has remainders.
std::int64_t count_of_adjoints(const conv::Geometry& g);
WindowSet adjoint_windows(const conv::Geometry& g, std::int64_t index);

}  // namespace kiln::cpu::amx
