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
              float* sums, Ahead ahead) {
  if (has_tiles()) multiply_on_tiles(left, right, rows, columns, depth, add, sums, kTileByTile);
  else multiply_on_vectors(left, right, rows, columns, depth, add, sums, kTileByTile, {}, ahead);
}
void multiply_rows(const uint16_t* left, const uint16_t* right, int64_t rows, int64_t columns, int64_t depth, bool add,
                   float* sums, int64_t step) {
  const TileOffsets at{step, kTile, kTile * step};
  if (has_tiles()) multiply_on_tiles(left, right, rows, columns, depth, add, sums, at);
  else multiply_on_vectors(left, right, rows, columns, depth, add, sums, at, {}, {});
}
void multiply_and_store(const uint16_t* left, const uint16_t* right, int64_t rows, int64_t columns, int64_t depth,
                        bool add, float* sums, uint16_t* to, int64_t step, Ahead ahead) {
  if (has_tiles()) {
    multiply_on_tiles(left, right, rows, columns, depth, add, sums, kTileByTile);
    store(sums, std::min(rows, kBlock), std::min(columns, kBlock), to, step);
  } else {
    multiply_on_vectors(left, right, rows, columns, depth, add, sums, kTileByTile, {to, step}, ahead);
  }
}

}  // namespace kiln::cpu::amx
