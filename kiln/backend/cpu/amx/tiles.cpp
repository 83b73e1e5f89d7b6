// Blocks on Intel's tiles. It is compiled for processors with AMX only (CMakeLists.txt), so like pack.cpp it includes
// nothing of the standard library.
#include <immintrin.h>

#include "kiln/backend/cpu/amx/block.hpp"

namespace kiln::cpu::amx {
namespace {

using std::int64_t;
using std::uint16_t;

/// The configuration of eight tiles of 16 rows of 64 bytes. It is static, since g++ does not know that the instruction
/// reads all of it.
struct alignas(64) Layout {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t bytes_of_a_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr Layout kLayout;

// Tiles 0 to 3 are sums, 4 and 5 left operands, 6 and 7 right ones.
template <int Rows, int Columns>
void multiply_tiles(const uint16_t* left, const uint16_t* right, int64_t depth, bool add, float* sums, TileOffsets at) {
  constexpr int64_t kRow = 64;  // bytes
  const int64_t row = at.row * 4;
  asm volatile("" ::: "memory");  // g++ does not know that the loads below read memory
  if (add) {
    _tile_loadd(0, sums, row);
    if constexpr (Columns > 1) _tile_loadd(1, sums + at.right, row);
    if constexpr (Rows > 1) _tile_loadd(2, sums + at.lower, row);
    if constexpr (Rows > 1 && Columns > 1) _tile_loadd(3, sums + at.lower + at.right, row);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int64_t j = 0; j < depth; j += kPairs, left += Rows * kTileNumbers, right += Columns * kTileNumbers) {
    _tile_loadd(4, left, kRow);
    _tile_loadd(6, right, kRow);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (Columns > 1) {
      _tile_loadd(7, right + kTileNumbers, kRow);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (Rows > 1) {
      _tile_loadd(5, left + kTileNumbers, kRow);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (Columns > 1) _tile_dpbf16ps(3, 5, 7);
    }
  }
  _tile_stored(0, sums, row);
  if constexpr (Columns > 1) _tile_stored(1, sums + at.right, row);
  if constexpr (Rows > 1) _tile_stored(2, sums + at.lower, row);
  if constexpr (Rows > 1 && Columns > 1) _tile_stored(3, sums + at.lower + at.right, row);
}

}  // namespace

void set_tiles_up() { _tile_loadconfig(&kLayout); }
void give_tiles_back() { _tile_release(); }

void multiply_on_tiles(const uint16_t* left, const uint16_t* right, int64_t rows, int64_t columns, int64_t depth,
                       bool add, float* sums, TileOffsets at) {
  if (rows > kTile && columns > kTile) multiply_tiles<2, 2>(left, right, depth, add, sums, at);
  else if (rows > kTile) multiply_tiles<2, 1>(left, right, depth, add, sums, at);
  else if (columns > kTile) multiply_tiles<1, 2>(left, right, depth, add, sums, at);
  else multiply_tiles<1, 1>(left, right, depth, add, sums, at);
}

}  // namespace kiln::cpu::amx
