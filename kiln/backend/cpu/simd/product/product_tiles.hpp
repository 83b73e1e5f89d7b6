// The inner loops of matrix products on one thread, and the orders in which they want to find their operands.
#pragma once
#include <cstdint>
#include <span>

namespace kiln::cpu::simd {

/// The left operand of a block: element [i, j] lies at data[i * row + j * column], or, where it was packed, at
/// data[i / rows * tile + i % rows + j * rows], `rows` being those of a tile (rows_of_tile).
template <class T>
struct LeftOperand {
  const T* data;
  std::int64_t row, column, tile;
  bool far = false;  // in no near cache: the rows of a tile are fetched ahead, too short for the processor to guess
};

/// The right operand of a block: element [i, j] lies at data[i * row + j * column], one of which is 1.
template <class T>
struct RightOperand {
  const T* data;
  std::int64_t row, column;
};

/// What is done to a block's sums before they are stored: `bias`, a row of it, is added, of float32 then `more`, rows
/// `more_row` apart, and then they are brought within [low, high] where they have bounds.
template <class T>
struct ProductTail {
  const T* bias = nullptr;
  const T* more = nullptr;
  std::int64_t more_row = 0;
  bool has_bounds = false;
  T low{}, high{};
};

/// Where the result of a block goes, and what should be in the cache when it is complete: rows `row` apart.
template <class T>
struct ResultBlock {
  T* data;
  std::int64_t row;
  const T* ahead;
  std::int64_t ahead_row;
  ProductTail<T> tail = {};
};

/// Some terms of a sum: the column of the left operand with which they begin, where they begin in the right one, and how
/// many there are.
struct ProductRun {
  std::int64_t a, b, count;
};

template <class T>
struct ProductTiles {
  /// The most rows of a tile, and columns of a panel.
  std::int64_t rows, panel;

  /// c [m, n] = a [m, k] b [k, n], or added to what c holds where `add`. `aside` has room for a panel of k rows.
  void (*multiply)(const LeftOperand<T>& a, const RightOperand<T>& b, const ResultBlock<T>& c, std::int64_t m,
                   std::int64_t n, std::int64_t k, bool add, T* aside);
  /// The same of terms that lie in runs, b by rows.
  void (*multiply_runs)(const LeftOperand<T>& a, const RightOperand<T>& b, const ResultBlock<T>& c, std::int64_t m,
                        std::int64_t n, std::span<const ProductRun> runs, bool add);
  /// Packs a left operand whose columns lie `column` apart with their numbers side by side: as many numbers as there
  /// are rows of tiles, times k.
  void (*pack_left)(const T* from, std::int64_t column, std::int64_t m, std::int64_t k, T* to);
  /// to[j * to_step + i] = from[i * step + j], for i < m and j < n.
  void (*turn)(const T* from, std::int64_t step, T* to, std::int64_t to_step, std::int64_t m, std::int64_t n);
};

/// Rows of a tile in a block of m rows, if `most` are possible: all tiles have as many, but for the last.
constexpr std::int64_t rows_of_tile(std::int64_t m, std::int64_t most) {
  const std::int64_t count = (m + most - 1) / most;
  return (m + count - 1) / count;
}

/// For the machine at hand; T is float, double, or int16, int32 or int64, whose sums wrap around.
template <class T> const ProductTiles<T>& product_tiles();

}  // namespace kiln::cpu::simd
