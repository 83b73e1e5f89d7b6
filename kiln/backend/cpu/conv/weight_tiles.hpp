// The gradient of a weight on the tiles of matrix products: for each place of the kernel the pixels of y, turned over, by those
// of x that lie under them, which in channels-last order are runs of memory.
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/kernel.hpp"

namespace kiln::cpu::conv {

/// weight [out, in, kernel...] from x and y in channels-last order.
void weight_tiles(const Geometry& g, const Array& x, const Array& y, float* weight);

}  // namespace kiln::cpu::conv
