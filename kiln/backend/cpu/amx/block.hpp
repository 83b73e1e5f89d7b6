// The instructions that compute a block of sums. tiles.hpp is the interface for other files.
#pragma once
#include "kiln/backend/cpu/amx/tiles.hpp"

namespace kiln::cpu::amx {

inline constexpr std::int64_t kTileNumbers = kTile * kPairs;

/// Computes on Intel's tiles, which the thread configures before and releases afterwards.
void set_tiles_up();
void give_tiles_back();
void multiply_on_tiles(const std::uint16_t* left, const std::uint16_t* right, std::int64_t rows, std::int64_t columns,
                       std::int64_t depth, bool add, float* sums, TileOffsets at);

/// Computes on vectors, with an instruction that adds to each of 16 sums the products of two pairs (AVX512-BF16). Sums
/// that are rounded are not stored.
void multiply_on_vectors(const std::uint16_t* left, const std::uint16_t* right, std::int64_t rows, std::int64_t columns,
                         std::int64_t depth, bool add, float* sums, TileOffsets at, Rounded rounded, Ahead ahead);

}  // namespace kiln::cpu::amx
