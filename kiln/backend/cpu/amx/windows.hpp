// What the pixels of a convolution's operands have to do with each other: under a place of the kernel, a pixel of one
// goes with one of the other, or with the padding.
#pragma once
#include <array>
#include <vector>

#include "kiln/backend/cpu/conv/geometry.hpp"

namespace kiln::cpu::amx {

/// Pixels of all images, in lines along the last of three axes; axes that a convolution lacks have one element.
struct Pixels {
  std::array<std::int64_t, 3> sizes;

  static Pixels of(const Spatial& sizes);
  std::int64_t image() const { return sizes[0] * sizes[1] * sizes[2]; }
};

/// Pixel i of an axis goes with pixel i * scale + offset of the other image.
struct Steps {
  std::array<std::int64_t, 3> scale, offset;
};

/// addresses[i]: where the numbers of the pixel begin that goes with pixel first + i of `pixels`, counted through all
/// images; `numbers` of them belong to each of `to`, whose first is at `data`. Of what lies outside it is `outside`.
template <class T>
void find(const Pixels& pixels, const Pixels& to, const Steps& steps, std::int64_t first, std::int64_t count, T* data,
          std::int64_t numbers, T* outside, T** addresses);

/// A convolution, or the part of its adjoint that makes the pixels of x which the stride leaves in the same place
/// between those of y: all that goes into them are the same places of the kernel, of windows that lie side by side.
struct WindowSet {
  Pixels results;                    // that are made
  Steps in_result;                   // where they lie in the whole result
  std::vector<Steps> places;         // for each place of the kernel: where what it is multiplied with lies
  std::vector<std::int64_t> kernel;  // the number of each
};

/// Of pixels of y, the pixels of x.
WindowSet forward_windows(const conv::Geometry& g);
/// Of pixels of x, those of y, in as many sets as there are places between strides.
std::int64_t count_of_adjoints(const conv::Geometry& g);
WindowSet adjoint_windows(const conv::Geometry& g, std::int64_t index);

}  // namespace kiln::cpu::amx
