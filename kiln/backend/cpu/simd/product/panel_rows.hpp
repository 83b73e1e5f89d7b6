// Rows times packed panels of another operand (ProductTiles::panel columns each), several of which are read side by
// side.
#pragma once
#include <cstdint>

#include "kiln/backend/cpu/simd/product/product_tiles.hpp"

namespace kiln::cpu::simd {

/// Computes c [m, panels * panel] = a [m, k] times so many panels of k rows, which are `step` apart, or adds that to c:
/// the same as ProductTiles::multiply() for these rows and each panel. Rows of a are `a_row` apart, and rows of c
/// `c_row`. The rows should fit into the first-level cache.
template <class T>
using PanelRows = void (*)(const T* a, std::int64_t a_row, std::int64_t m, const T* b, std::int64_t step,
                           std::int64_t panels, T* c, std::int64_t c_row, std::int64_t k, bool add);

/// The kernel for this processor. T is float or double.
template <class T> PanelRows<T> panel_rows();

}  // namespace kiln::cpu::simd
