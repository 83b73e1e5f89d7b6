// Rows by packed panels of another operand (ProductTiles::panel columns each), some of which are read side by side.
#pragma once
#include <cstdint>

#include "kiln/backend/cpu/simd/product/product_tiles.hpp"

namespace kiln::cpu::simd {

/// c [m, panels * panel] = a [m, k] times so many panels of k rows each, `step` apart, or added to what c holds: what
/// ProductTiles::multiply() gives of those rows and each panel. Rows of a lie `a_row` apart, those of c `c_row`. For rows that
/// the first-level cache holds.
template <class T>
using PanelRows = void (*)(const T* a, std::int64_t a_row, std::int64_t m, const T* b, std::int64_t step,
                           std::int64_t panels, T* c, std::int64_t c_row, std::int64_t k, bool add);

/// For the machine at hand, T being float or double.
template <class T> PanelRows<T> panel_rows();

}  // namespace kiln::cpu::simd
