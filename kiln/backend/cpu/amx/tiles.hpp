// The inner loops of bfloat16 products on Intel's tiles (AMX): how 32 x 32 numbers of a result are made, and the orders
// in which tiles want to find their operands.
//
// A tile holds 16 rows of 64 bytes, and the processor adds to 16 x 16 sums in float32 the products of a left tile, 16
// rows of 32 numbers, and a right tile, 32 numbers of 16 columns in pairs: its row i has numbers 2i and 2i + 1 of each
// column. (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18.)
#pragma once
#include <cstdint>

namespace kiln::cpu::amx {

inline constexpr std::int64_t kTile = 16;   // lines of a tile: rows of a left one, columns of a right one
inline constexpr std::int64_t kPairs = 32;  // numbers of each line
inline constexpr std::int64_t kBlock = 32;  // rows and columns of a block of results: 2 x 2 tiles

/// Lines of an operand in memory: the rows of a left one, the columns of a right one. Number j of line i lies
/// i * line + j * along elements behind `data`; one of the two is 1.
struct Lines {
  const std::uint16_t* data;
  std::int64_t line, along;
};

/// Numbers that up to kBlock lines take when they are packed.
constexpr std::int64_t packed_size(std::int64_t lines, std::int64_t depth) {
  return (lines + kTile - 1) / kTile * kTile * ((depth + kPairs - 1) / kPairs * kPairs);
}
/// Brings up to kBlock lines of `depth` numbers into the order of tiles, with zeros where a tile is not full.
void pack_left(const Lines& rows, std::int64_t count, std::int64_t depth, std::uint16_t* packed);
void pack_right(const Lines& columns, std::int64_t count, std::int64_t depth, std::uint16_t* packed);

/// While one lives, the calling thread's tiles are set up for the products below.
class Tiles {
 public:
  Tiles();
  ~Tiles();
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

/// A block of float32 sums, tile by tile.
inline constexpr std::int64_t kSums = kBlock * kBlock;
/// Sums of a block of rows x columns over `depth` products: stored over those in `sums`, or added to them.
void multiply(const std::uint16_t* left, const std::uint16_t* right, std::int64_t rows, std::int64_t columns,
              std::int64_t depth, bool add, float* sums);
/// The sums rounded to bfloat16; rows of the result lie `step` apart.
void store(const float* sums, std::int64_t rows, std::int64_t columns, std::uint16_t* to, std::int64_t step);

}  // namespace kiln::cpu::amx
