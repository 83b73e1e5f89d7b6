#include "kiln/backend/gpu/family/sequence/attention_warps.hpp"

namespace kiln::gpu::family {

namespace {

const Matrix& at(const WarpRows::Matrices& all, int i) { return all[static_cast<std::size_t>(i)]; }

}  // namespace

WarpRows::WarpRows(Builder& b, const AttentionKey& key, DType type, int groups)
    : scores(b.shared(type, std::int64_t{kWarps} * kRows * kStride)),
      weights(b.shared(key.dtype, std::int64_t{groups} * kWarps * kRows * kStride)),
      b_(b),
      key_(key),
      groups_(groups),
      shape_{key.matrix_rows, kMatrixSide, kMatrixSide, key.dtype, type},
      half_(b.lane() % 2),
      warp_(b.warp() * (kRows * kStride)),
      own_(warp_ + b.lane() / 2 * kStride),
      right_(b.matrix(Matrix::Use::Right, shape_)),
      factor_(b.matrix(Matrix::Use::Sums, shape_)),
      left_(take(Matrix::Use::Left, matrix_rows())) {}

WarpRows::Matrices WarpRows::take(Matrix::Use use, int count) const {
  Matrices all;
  for (int i = 0; i < count; ++i) all.push_back(b_.matrix(use, shape_));
  return all;
}

Expr WarpRows::row(int g) const { return b_.warp() * kRows + b_.lane() / 2 + g * (kWarps * kRows); }

void WarpRows::load_rows(const Matrices& to, const HeldFactor& from, int g, int deep) const {
  for (int i = 0; i < tall(); ++i)
    for (int j = 0; j < deep; ++j)
      load_matrix(at(to, (g * tall() + i) * deep + j), from, b_.warp() * kRows + i * key_.matrix_rows, j * kMatrixSide,
                  true);
}

void WarpRows::multiply_lines(const Matrices& sums, const Matrices& left, const HeldFactor& right, int deep) const {
  constexpr int kWide = kColumns / kMatrixSide;
  for (const Matrix& each : sums) each.clear();
  for (int depth = 0; depth < deep; ++depth)
    for (int j = 0; j < kWide; ++j) {
      load_matrix(right_, right, b_.literal(DType::I32, j * kMatrixSide), depth * kMatrixSide, false);
      for (int i = 0; i < matrix_rows(); ++i) at(sums, i * kWide + j).add_product(at(left, i * deep + depth), right_);
    }
}

void WarpRows::give(const Matrices& sums, int g, int wide, int begin, int count) const {
  for (int i = 0; i < tall(); ++i)
    for (int j = 0; j < count; ++j)
      at(sums, (g * tall() + i) * wide + begin + j)
          .store(scores, warp_ + (i * key_.matrix_rows * kStride + j * kMatrixSide), kStride);
}

void WarpRows::add_weighted(const Matrices& results, const HeldFactor& right, int wide, bool across) const {
  for (int depth = 0; depth < kColumns; depth += kMatrixSide) {
    for (int i = 0; i < matrix_rows(); ++i)
      at(left_, i).load(
          weights, warp_ + (i / tall() * kWarps * kRows * kStride + i % tall() * key_.matrix_rows * kStride + depth),
          kStride, false);
    for (int j = 0; j < wide; ++j) {
      const int column = j * kMatrixSide;
      load_matrix(right_, right, b_.literal(DType::I32, across ? depth : column), across ? column : depth, across);
      for (int i = 0; i < matrix_rows(); ++i) at(results, i * wide + j).add_product(at(left_, i), right_);
    }
  }
}

/// A row of the matrix of factors takes the place of scores that this thread alone has read.
void WarpRows::give_factor(const Expr& factor) const {
  const std::vector<Expr> all(kVector, factor);
  for (int i = 0; i < kMatrixSide / 2; i += kVector) scores.store(score_place(i), all);
}

void WarpRows::scale(const Matrices& results, int g, int wide) const {
  for (int i = 0; i < tall(); ++i) {
    factor_.load(scores, warp_ + i * key_.matrix_rows * kStride, kStride, false);
    for (int j = 0; j < wide; ++j) at(results, (g * tall() + i) * wide + j).scale(factor_);
  }
}

int padded_width(std::int64_t width) {
  int padded = kMatrixSide;
  while (padded < width) padded *= 2;
  return padded;
}

}  // namespace kiln::gpu::family
