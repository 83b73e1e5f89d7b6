// Compiled for processors with AMX only (CMakeLists.txt): like amx/tiles.cpp, it includes nothing of the standard
// library. The left operand is read in place, 16 rows of 64 bytes at a time.
#include <immintrin.h>

#include "kiln/backend/cpu/integer/tiles.hpp"

namespace kiln::cpu::integer {
namespace {

using std::int64_t;

constexpr int64_t kRows = 16, kTileBytes = 1024;

/// It is static, since g++ does not know that the instruction reads all of it.
struct alignas(64) Layout {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t bytes_of_a_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr Layout kLayout;

// Tiles 0 to 3 are sums, 4 and 5 left operands, 6 and 7 right ones.
template <int Rows, int Panels>
inline void tile(const std::uint8_t* left, int64_t step, const std::int8_t* right, int64_t panel_step, int64_t depth,
                 std::int32_t* sums, int64_t row) {
  asm volatile("" ::: "memory");  // g++ does not know that the loads below read memory
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t k = 0; k < depth; k += kDepth, left += kDepth, right += kTileBytes) {
    _tile_loadd(4, left, step);
    _tile_loadd(6, right, 64);
    _tile_dpbusd(0, 4, 6);
    if constexpr (Panels > 1) {
      _tile_loadd(7, right + panel_step, 64);
      _tile_dpbusd(1, 4, 7);
    }
    if constexpr (Rows > 1) {
      _tile_loadd(5, left + kRows * step, step);
      _tile_dpbusd(2, 5, 6);
      if constexpr (Panels > 1) _tile_dpbusd(3, 5, 7);
    }
  }
  _tile_stored(0, sums, row * 4);
  if constexpr (Panels > 1) _tile_stored(1, sums + kPanel, row * 4);
  if constexpr (Rows > 1) _tile_stored(2, sums + kRows * row, row * 4);
  if constexpr (Rows > 1 && Panels > 1) _tile_stored(3, sums + kRows * row + kPanel, row * 4);
}

template <int Panels>
void columns_of(const std::uint8_t* left, int64_t step, int64_t count, const std::int8_t* right, int64_t panel_step,
                int64_t depth, std::int32_t* sums, int64_t row) {
  for (; count > kRows; count -= 2 * kRows, left += 2 * kRows * step, sums += 2 * kRows * row)
    tile<2, Panels>(left, step, right, panel_step, depth, sums, row);
  if (count > 0) tile<1, Panels>(left, step, right, panel_step, depth, sums, row);
}

}  // namespace

void multiply_amx(const std::uint8_t* left, int64_t step, int64_t count, const std::int8_t* right, int64_t panel_step,
                  int64_t panels, int64_t depth, std::int32_t* sums, int64_t row) {
  _tile_loadconfig(&kLayout);
  for (; panels > 1; panels -= 2, right += 2 * panel_step, sums += 2 * kPanel)
    columns_of<2>(left, step, count, right, panel_step, depth, sums, row);
  if (panels > 0) columns_of<1>(left, step, count, right, panel_step, depth, sums, row);
  _tile_release();
}

}  // namespace kiln::cpu::integer
