#include "kiln/backend/cpu/amx/block.hpp"

#include <algorithm>

#include "kiln/backend/cpu/amx/amx.hpp"

namespace kiln::cpu::amx {

using std::int64_t;
using std::uint16_t;

Tiles::Tiles() {
  if (has_tiles()) set_tiles_up();
}
Tiles::~Tiles() {
  if (has_tiles()) give_tiles_back();
}

void multiply(const uint16_t* left, const uint16_t* right, int64_t rows, int64_t columns, int64_t depth, bool add,
              float* sums, TileOffsets at, Rounded rounded, Ahead ahead) {
  KILN_CHECK(!rounded.to ||
             (at.row == kTileByTile.row && at.right == kTileByTile.right && at.lower == kTileByTile.lower));
  if (!has_tiles()) return multiply_on_vectors(left, right, rows, columns, depth, add, sums, at, rounded, ahead);
  multiply_on_tiles(left, right, rows, columns, depth, add, sums, at);
  if (rounded.to) store(sums, std::min(rows, kBlock), std::min(columns, kBlock), rounded.to, rounded.step);
}

}  // namespace kiln::cpu::amx
