#include "kiln/backend/gpu/family/product/tile.hpp"

#include <algorithm>
#include <array>

#include "kiln/core/error/error.hpp"

namespace kiln::gpu::family {

Expr warp_row(Builder& k, const Tile& tile) {
  return k.warp() / (tile.columns / (tile.own_columns * 4)) * (tile.own_rows * 8);
}
Expr warp_column(Builder& k, const Tile& tile) {
  return k.warp() % (tile.columns / (tile.own_columns * 4)) * (tile.own_columns * 4);
}

namespace {

// The threads of a warp of a blocked tile: so many of their groups of sums stand beside each other.
constexpr int kBlockRows = 4, kBlockColumns = kLanes / kBlockRows;

/// The tile's first row of this thread's sums; for fragments, that of its warp plus its place in the fragment. Pairs of
/// threads have a column in common, and every other thread a row: then shared memory reads for both at once.
Expr own_row(Builder& k, const Tile& tile) {
  if (tile.fragments) return warp_row(k, tile) + k.lane() / 4;
  const int across = tile.columns / tile.own_columns;
  if (!tile.blocked) return k.thread() / across;
  return k.warp() / (across / kBlockColumns) * kBlockRows + k.lane() / (2 * kBlockColumns) * 2 + k.lane() % 2;
}
Expr own_column(Builder& k, const Tile& tile) {
  if (tile.fragments) return warp_column(k, tile) + k.lane() % 4 * 2;
  const int across = tile.columns / tile.own_columns;
  if (!tile.blocked) return k.thread() % across;
  return k.warp() % (across / kBlockColumns) * kBlockColumns + k.lane() / 2 % kBlockColumns;
}

}  // namespace

TileProduct::TileProduct(Builder& k, const Tile& of, DType dtype)
    : tile(of),
      sums(k.local(expr::computed_in(dtype), std::int64_t{of.own_rows} * of.own_columns)),
      k_(&k),
      dtype_(dtype),
      type_(expr::computed_in(dtype)),
      own_row_(own_row(k, of)),
      own_column_(own_column(k, of)) {
  require<ArgumentError>(k.threads() == tile.threads(), "kernel: ", k.threads(), " threads, but a tile of ",
                         tile.threads());
  if (tile.matrix_rows) begin_matrices();
}

TileProduct::TileProduct(const TileProduct& other, Local others)
    : tile(other.tile),
      sums(others),
      k_(other.k_),
      dtype_(other.dtype_),
      type_(other.type_),
      own_row_(other.own_row_),
      own_column_(other.own_column_),
      left_(other.left_),
      right_(other.right_),
      exchanged_(other.exchanged_),
      matrices_(other.matrices_),
      rows_(other.rows_),
      columns_(other.columns_) {}

TileProduct TileProduct::beside(const Loading& right) {
  if (!right_) right_.emplace(*k_, tile, tile.columns, dtype_, 1, right.along_depth);
  return {*this, k_->local(type_, std::int64_t{tile.own_rows} * tile.own_columns)};
}

void TileProduct::clear() {
  const Expr zero = k_->literal(type_, 0);
  k_->unrolled(tile.own_rows * tile.own_columns, [&](const Expr& i) { sums.set(i, zero); });
}

Expr TileProduct::row(int i) const {
  if (tile.fragments) return own_row_ + (i / 2 * 16 + i % 2 * 8);
  const int group = tile.row_group();
  return own_row_ * group + (i / group * group * (tile.rows / tile.own_rows) + i % group);
}
Expr TileProduct::column(int i) const {
  if (tile.fragments) return own_column_ + (i / 2 * 8 + i % 2);
  const int group = tile.column_group();
  return own_column_ * group + (i / group * group * (tile.columns / tile.own_columns) + i % group);
}

void TileProduct::multiply(const Turned& left, const Expr& turn) {
  const Local rows = k_->local(type_, tile.own_rows), columns = k_->local(type_, tile.own_columns);
  // Places are counted in what is loaded at once.
  const auto take = [&](const Local& to, int count, const Turned& from, const Expr& depth, const Expr& own, int group) {
    const int width = std::min(group, 16 / static_cast<int>(size_of(from.memory.dtype())));
    const int apart = (&from == &left ? tile.rows : tile.columns) / count;
    const Expr line = from.turn * (from.size / width) + depth * (from.stride / width) + own * (group / width);
    for (int i = 0; i < count; i += width) {
      const std::vector<Expr> taken =
          from.memory.load((line + (i / group * group * apart + i % group) / width) * width, width);
      for (int j = 0; j < width; ++j) to.set(i + j, taken[static_cast<std::size_t>(j)]);
    }
  };
  const Turned right{right_->memory, turn, right_->size, right_->depth_stride};
  k_->unrolled(tile.depth, [&](const Expr& depth) {
    take(rows, tile.own_rows, left, depth, own_row_, tile.row_group());
    take(columns, tile.own_columns, right, depth, own_column_, tile.column_group());
    k_->unrolled(tile.own_rows, [&](const Expr& i) {
      const Expr factor = rows[i];
      k_->unrolled(tile.own_columns, [&](const Expr& j) {
        const Expr at = i * tile.own_columns + j;
        sums.set(at, multiply_add(factor, columns[j], sums[at]));
      });
    });
  });
}

void TileProduct::multiply_fragments(const Shared& left, const Expr& left_at, int left_stride, const Expr& right_at) {
  const Expr pair = k_->lane() % 4 * 2;
  // A thread's columns begin at its pair, but columns of the right factor are one lane apart.
  const Expr left_line = left_at + own_row_ * left_stride + pair;
  const Expr right_line = right_at + (own_column_ - pair + k_->lane() / 4) * right_->line_stride + pair;
  for (int depth = 0; depth < tile.depth; depth += 16) {
    std::vector<std::array<Expr, 2>> columns;
    for (int j = 0; j < tile.own_columns; j += 2) {
      const int at = j / 2 * 8 * right_->line_stride + depth;
      columns.push_back({right_->memory.pair(right_line + at), right_->memory.pair(right_line + (at + 8))});
    }
    for (int i = 0; i < tile.own_rows; i += 2) {
      const int at = i / 2 * 16 * left_stride + depth, below = at + 8 * left_stride;
      const Expr rows[] = {left.pair(left_line + at), left.pair(left_line + below), left.pair(left_line + (at + 8)),
                           left.pair(left_line + (below + 8))};
      for (int j = 0; j < tile.own_columns; j += 2) {
        const int places[] = {i * tile.own_columns + j, i * tile.own_columns + j + 1, (i + 1) * tile.own_columns + j,
                              (i + 1) * tile.own_columns + j + 1};
        std::vector<Expr> before;
        for (const int place : places) before.push_back(sums[place]);
        const std::vector<Expr> made =
            k_->multiply_fragments(dtype_, rows, columns[static_cast<std::size_t>(j / 2)], before);
        for (std::size_t p = 0; p < 4; ++p) sums.set(places[p], made[p]);
      }
    }
  }
}

void TileProduct::each(FunctionRef<void(const Expr& row, const Expr& column, int i)> f) const {
  for (int i = 0; i < tile.own_rows; ++i)
    for (int j = 0; j < tile.own_columns; j += tile.column_group()) f(row(i), column(j), i * tile.own_columns + j);
}

std::vector<Expr> TileProduct::group(int i) const {
  std::vector<Expr> all;
  for (int j = 0; j < tile.column_group(); ++j) all.push_back(sums[i + j]);
  return all;
}

}  // namespace kiln::gpu::family
