// The gradient of a weight on the tiles of matrix products: for each tap of the kernel, the transposed pixels of y
// times the pixels of x under them, which are contiguous runs in channels-last order.
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/kernel.hpp"

namespace kiln::cpu::conv {

/// Computes weight [out, in, kernel...] from x and y in channels-last order.
void weight_tiles(const Geometry& g, const Array& x, const Array& y, float* weight);

}  // namespace kiln::cpu::conv
