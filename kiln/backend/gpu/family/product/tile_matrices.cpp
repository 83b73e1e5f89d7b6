// Products of tiles by matrices that warps hold (Builder::matrix).
#include "kiln/backend/gpu/family/product/tile.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln::gpu::family {

void TileProduct::begin_matrices() {
  const Fragment shape{tile.matrix_rows, kMatrixSide, kMatrixSide, dtype_, type_};
  const int rows = tile.own_rows * 8 / shape.m, columns = tile.own_columns * 4 / shape.n;
  require<ArgumentError>(rows * shape.m == tile.own_rows * 8 && columns * shape.n == tile.own_columns * 4,
                         "kernel: a warp's sums are no whole matrices");
  for (int i = 0; i < rows * columns; ++i) matrices_.push_back(k_->matrix(Matrix::Use::Sums, shape));
  for (int i = 0; i < rows; ++i) rows_.push_back(k_->matrix(Matrix::Use::Left, shape));
  for (int i = 0; i < columns; ++i) columns_.push_back(k_->matrix(Matrix::Use::Right, shape));
  exchanged_ = k_->shared(type_, std::int64_t{k_->threads()} / kLanes * shape.m * shape.n);
}

void load_matrix(const Matrix& to, const HeldFactor& from, const Expr& line, int depth, bool lines_are_rows) {
  const bool by_lines = from.depth_stride == 1;
  // Places are counted in 16 bytes, which are eight halves, as far as they can be.
  constexpr int kOctet = 8;
  const int stride = by_lines ? from.line_stride : from.depth_stride;
  const Expr first = from.turn * (from.size / kOctet);
  const Expr at =
      by_lines ? first + line * (stride / kOctet) + depth / kOctet : first + line / kOctet + depth * (stride / kOctet);
  to.load(from.memory, at * (kOctet / from.each), stride / from.each, by_lines != lines_are_rows);
}

void TileProduct::multiply_matrices(const HeldFactor& left, const HeldFactor& right) {
  const Expr row = warp_row(*k_, tile), column = warp_column(*k_, tile);
  for (int depth = 0; depth < tile.depth; depth += kMatrixSide) {
    for (std::size_t i = 0; i < rows_.size(); ++i)
      load_matrix(rows_[i], left, row + static_cast<int>(i) * tile.matrix_rows, depth, true);
    for (std::size_t j = 0; j < columns_.size(); ++j)
      load_matrix(columns_[j], right, column + static_cast<int>(j) * kMatrixSide, depth, false);
    for (std::size_t i = 0; i < rows_.size(); ++i)
      for (std::size_t j = 0; j < columns_.size(); ++j)
        matrices_[i * columns_.size() + j].add_product(rows_[i], columns_[j]);
  }
}

/// Calls take(i, j, first) for each matrix of sums when its elements lie in shared memory, row by row from `first` on.
void TileProduct::each_matrix(FunctionRef<void(int i, int j, const Expr& first)> take) const {
  const Expr first = k_->warp() * (tile.matrix_rows * kMatrixSide);
  for (std::size_t i = 0; i < rows_.size(); ++i)
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      matrices_[i * columns_.size() + j].store(*exchanged_, first, kMatrixSide);
      k_->barrier();
      take(static_cast<int>(i), static_cast<int>(j), first);
      k_->barrier();
    }
}

/// Adds the matrices' sums to those of the threads.
void TileProduct::end_matrices() {
  const Expr pair = k_->lane() % 4 * 2;
  each_matrix([&](int i, int j, const Expr& first) {
    for (int row = 0; row < tile.matrix_rows / 8; ++row)
      for (int column = 0; column < kMatrixSide / 8; ++column) {
        const std::vector<Expr> made =
            exchanged_->load(first + (k_->lane() / 4 + row * 8) * kMatrixSide + pair + column * 8, 2);
        const int at = (i * tile.matrix_rows / 8 + row) * tile.own_columns + (j * (kMatrixSide / 8) + column) * 2;
        for (int each = 0; each < 2; ++each)
          sums.set(at + each, sums[at + each] + made[static_cast<std::size_t>(each)]);
      }
  });
}

void TileProduct::take_matrices(Take take) const {
  // A thread takes as many adjacent elements as there are for each.
  const int width = tile.matrix_rows * kMatrixSide / kLanes, across = kMatrixSide / width;
  constexpr int kVector = 4;
  const Expr row = k_->lane() / across, column = k_->lane() % across * width;
  each_matrix([&](int i, int j, const Expr& first) {
    std::vector<Expr> made;
    for (int at = 0; at < width; at += kVector)
      for (const Expr& each : exchanged_->load(first + row * kMatrixSide + column + at, kVector)) made.push_back(each);
    take(warp_row(*k_, tile) + row + i * tile.matrix_rows, warp_column(*k_, tile) + column + j * kMatrixSide, made);
  });
}

}  // namespace kiln::gpu::family
