// The inner loops of matrix products on one thread, and the orders in which they read their operands.
#pragma once
#include <cstdint>
#include <span>

namespace kiln::cpu::simd {

/// The left operand of a block: element [i, j] is at data[i * row + j * column], or, if it was packed, at data[i / rows
/// * tile + i % rows + j * rows], where `rows` are those of a tile (rows_of_tile).
template <class T>
struct LeftOperand {
  const T* data;
  std::int64_t row, column, tile;
  bool far = false;  // not in a near cache: the rows of a tile are prefetched
};

/// The right operand of a block: element [i, j] is at data[i * row + j * column]; one of the strides is 1.
template <class T>
struct RightOperand {
  const T* data;
  std::int64_t row, column;
};

/// The sums of a block change before they are stored: `bias`, a row, is added. For float32 `more` is added too,
/// whose rows are `more_row` apart, and then the sums are clamped to [low, high] if these are bounds.
template <class T>
struct ProductTail {
  const T* bias = nullptr;
  const T* more = nullptr;
  std::int64_t more_row = 0;
  bool has_bounds = false;
  T low{}, high{};
};

/// The destination of a block's result, and what should be in the cache when it is complete: rows `row` apart.
template <class T>
struct ResultBlock {
  T* data;
  std::int64_t row;
  const T* ahead;
  std::int64_t ahead_row;
  ProductTail<T> tail = {};
};

/// Some terms of a sum: their first column in the left operand, their offset in the right one, and their number.
struct ProductRun {
  std::int64_t a, b, count;
};

template <class T>
struct ProductTiles {
  /// The most rows of a tile, and the columns of a panel.
  std::int64_t rows, panel;

  /// Computes c [m, n] = a [m, k] b [k, n], or adds it to c if `add`. `aside` has space for a panel of k rows.
  void (*multiply)(const LeftOperand<T>& a, const RightOperand<T>& b, const ResultBlock<T>& c, std::int64_t m,
                   std::int64_t n, std::int64_t k, bool add, T* aside);
  /// Does so for terms that are stored in runs, with b by rows.
  void (*multiply_runs)(const LeftOperand<T>& a, const RightOperand<T>& b, const ResultBlock<T>& c, std::int64_t m,
                        std::int64_t n, std::span<const ProductRun> runs, bool add);
  /// Packs a left operand whose columns are `column` apart, with the numbers of a column side by side: the size is the
  /// number of rows of tiles times k.
  void (*pack_left)(const T* from, std::int64_t column, std::int64_t m, std::int64_t k, T* to);
  /// Sets to[j * to_step + i] = from[i * step + j], for i < m and j < n.
  void (*transpose)(const T* from, std::int64_t step, T* to, std::int64_t to_step, std::int64_t m, std::int64_t n);
};

/// Returns the rows of a tile in a block of m rows, of at most `most`: all tiles have as many, except the last one.
constexpr std::int64_t rows_of_tile(std::int64_t m, std::int64_t most) {
  const std::int64_t count = (m + most - 1) / most;
  return (m + count - 1) / count;
}

/// The kernels for this processor. T is float, double, or int16, int32 or int64, whose sums wrap around.
template <class T> const ProductTiles<T>& product_tiles();

}  // namespace kiln::cpu::simd
