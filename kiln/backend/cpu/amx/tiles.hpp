// The inner loops of bfloat16 products on Intel's tiles (AMX): they compute blocks of 32 x 32 results, and pack
// operands in the order that tiles need. On processors with AVX512-BF16 but without tiles, these loops use vectors,
// which read the same orders.
//
// A tile has 16 rows of 64 bytes. The processor adds to 16 x 16 sums in float32 the products of a left tile, 16 rows of
// 32 numbers, and a right tile, 32 numbers of 16 columns in pairs: its row i has numbers 2i and 2i + 1 of each column.
// (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18.)
#pragma once
#include <cstdint>

namespace kiln::cpu::amx {

inline constexpr std::int64_t kTile = 16;   // lines of a tile: rows of a left one, columns of a right one
inline constexpr std::int64_t kPairs = 32;  // numbers of each line
inline constexpr std::int64_t kBlock = 32;  // rows and columns of a block of results: 2 x 2 tiles

/// Lines of an operand in memory: the rows of a left one, the columns of a right one. Number j of line i is i * line +
/// j * along elements after `data`; one of the two strides is 1.
struct TileLines {
  const std::uint16_t* data;
  std::int64_t line, along;
};

/// Returns how many numbers up to kBlock packed lines have.
constexpr std::int64_t packed_size(std::int64_t lines, std::int64_t depth) {
  return (lines + kTile - 1) / kTile * kTile * ((depth + kPairs - 1) / kPairs * kPairs);
}
/// Packs up to kBlock lines of `depth` numbers in the order of tiles, with zeros where a tile is not full.
void pack_left(const TileLines& rows, std::int64_t count, std::int64_t depth, std::uint16_t* packed);
void pack_right(const TileLines& columns, std::int64_t count, std::int64_t depth, std::uint16_t* packed);

/// Packs up to kBlock rows that begin anywhere: number j of row i is at rows[i][first + j].
void gather_left(const std::uint16_t* const* rows, std::int64_t first, std::int64_t count, std::int64_t depth,
                 std::uint16_t* packed);
/// Packs up to kBlock columns whose numbers are side by side: number j of column i is at numbers[j][first + i].
void gather_right(const std::uint16_t* const* numbers, std::int64_t first, std::int64_t count, std::int64_t depth,
                  std::uint16_t* packed);

/// Transposes kBlock consecutive lines of `places` numbers each, and back: number t of line i becomes number i of line
/// t.
class Turn {
 public:
  static constexpr std::int64_t kMost = 16;

  explicit Turn(std::int64_t places);
  /// Writes line t to to[t * step].
  void over(const std::uint16_t* lines, std::uint16_t* to, std::int64_t step) const;
  /// Reads line t from from[t * step].
  void back(const std::uint16_t* from, std::int64_t step, std::uint16_t* lines) const;

 private:
  /// Number l of vector v of a result is number at[v][l] of the vector s for which bit l of of[v][s] is set.
  struct Moves {
    alignas(64) std::uint16_t at[kMost][kBlock];
    std::uint32_t of[kMost][kMost];
  };
  template <std::int64_t kPlaces>
  static void move_all(const Moves& moves, const std::uint16_t* from, std::int64_t from_step, std::uint16_t* to,
                       std::int64_t to_step);
  static void move(std::int64_t places, const Moves& moves, const std::uint16_t* from, std::int64_t from_step,
                   std::uint16_t* to, std::int64_t to_step);

  std::int64_t places_;
  Moves over_, back_;
};

/// While an object exists, the calling thread's tiles are configured for the products below.
class Tiles {
 public:
  Tiles();
  ~Tiles();
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

/// A block of float32 sums, tile by tile.
inline constexpr std::int64_t kSums = kBlock * kBlock;
/// The positions of the tiles of a block of sums, in numbers: the distances from row to row, and from tile to tile.
struct TileOffsets {
  std::int64_t row, right, lower;
};
/// The layout in which tiles follow one another, and the one of rows `step` apart, in memory for whole tiles.
inline constexpr TileOffsets kTileByTile{kTile, kTile* kTile, 2 * kTile* kTile};
constexpr TileOffsets in_rows(std::int64_t step) { return {step, kTile, kTile * step}; }
/// The destination of a complete block, whose rows are `step` apart; none, unless there is a `to`.
struct Rounded {
  std::uint16_t* to = nullptr;
  std::int64_t step = 0;
};
/// Numbers to prefetch during a block, because they are needed soon.
struct Ahead {
  const std::uint16_t* numbers = nullptr;
  std::int64_t count = 0;
};
/// Computes the sums of a block of rows x columns over `depth` products, and stores them in `sums` or adds them to it.
/// Sums that are complete may go to `rounded`, as by store(), if tiles follow one another; those in `sums` then become
/// invalid.
void multiply(const std::uint16_t* left, const std::uint16_t* right, std::int64_t rows, std::int64_t columns,
              std::int64_t depth, bool add, float* sums, TileOffsets at = kTileByTile, Rounded rounded = {},
              Ahead ahead = {});
/// Stores the sums, rounded to bfloat16; rows of the result are `step` apart.
void store(const float* sums, std::int64_t rows, std::int64_t columns, std::uint16_t* to, std::int64_t step);
/// Stores them so that row i of the result begins at to[i][first].
void scatter(const float* sums, std::int64_t rows, std::int64_t columns, std::uint16_t* const* to, std::int64_t first);

// These functions process rows of float32 `step` apart, by vectors of 16 columns. Numbers after the last column may
// have any value.

/// Packs rows [0, depth) of up to kBlock columns as a right operand, rounded.
void round_right(const float* rows, std::int64_t step, std::int64_t count, std::int64_t depth, std::uint16_t* packed);
/// Computes x *= factor.
void scale(float* x, std::int64_t step, std::int64_t rows, std::int64_t columns, float factor);
/// Multiplies column j of x by factors[j].
void scale_columns(float* x, std::int64_t step, std::int64_t rows, std::int64_t columns, const float* factors);
/// Stores columns of x as rows of bfloat16: to[j * to_step + i] = x[i * step + j] * factors[j].
void store_transposed(const float* x, std::int64_t step, std::int64_t rows, std::int64_t columns, const float* factors,
                      std::uint16_t* to, std::int64_t to_step);

}  // namespace kiln::cpu::amx
