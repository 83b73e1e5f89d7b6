// How the processor at hand makes a block of sums. (Not for others: tiles.hpp is.)
#pragma once
#include "kiln/backend/cpu/amx/tiles.hpp"

namespace kiln::cpu::amx {

inline constexpr std::int64_t kTileNumbers = kTile * kPairs;

/// Where the tiles of a block of sums lie, in numbers: from row to row, and from tile to tile.
struct Places {
  std::int64_t row, right, lower;
};
/// One behind the other.
inline constexpr Places kTileByTile{kTile, kTile* kTile, 2 * kTile* kTile};

/// On Intel's tiles, which the thread sets up before and gives back afterwards.
void set_tiles_up();
void give_tiles_back();
void multiply_on_tiles(const std::uint16_t* left, const std::uint16_t* right, std::int64_t rows, std::int64_t columns,
                       std::int64_t depth, bool add, float* sums, Places at);

/// Where a block goes that is complete; nowhere, unless there is a `to`.
struct Rounded {
  std::uint16_t* to = nullptr;
  std::int64_t step = 0;  // from row to row
};
/// On vectors, whose instruction adds to each of 16 sums the products of two pairs (AVX512-BF16). Sums that are rounded
/// are not stored.
void multiply_on_vectors(const std::uint16_t* left, const std::uint16_t* right, std::int64_t rows, std::int64_t columns,
                         std::int64_t depth, bool add, float* sums, Places at, Rounded rounded, Ahead ahead);

}  // namespace kiln::cpu::amx
