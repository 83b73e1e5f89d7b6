// The kernels of attention by matrices that warps hold (Builder::matrix) share this class. A block has four warps, and each
// warp 16 rows, or twice that, of scores and results, which stay in its matrices. Which thread holds which of their elements
// is the device's own affair: where a thread needs them, as a softmax does, they pass through shared memory to two threads
// for each row, which have every other four columns.
#pragma once
#include "kiln/backend/gpu/family/sequence/attention.hpp"

namespace kiln::gpu::family {

class WarpRows {
 public:
  using Matrices = std::vector<Matrix>;
  static constexpr int kWarps = 4, kRows = 16, kColumns = 64;  // rows of a group of a warp, which has `groups`
  static constexpr int kVector = 4, kOwn = kColumns / 2;       // columns of a thread: together, and all

  WarpRows(Builder& b, const AttentionKey& key, DType type, int groups);
  Matrices take(Matrix::Use use, int count) const;
  /// The rows of matrices that a warp has.
  int matrix_rows() const { return groups_ * tall(); }
  /// The place in the block of the thread's row of group g; and its column number i.
  Expr row(int g) const;
  Expr column(int i) const { return half_ * kVector + (i / kVector * 2 * kVector + i % kVector); }
  /// The places of its columns number i and on, and of column `at`, in the memory of scores and of weights.
  Expr score_place(int i) const { return own_ + column(i); }
  Expr weight_place(int g, const Expr& at) const { return own_ + at + g * (kWarps * kRows * kStride); }
  /// Is this the first thread of its row?
  Expr leads() const { return half_ == 0; }

  /// A tile whose factors have kColumns lines.
  static Tile tile(const AttentionKey& key, int groups, int depth) {
    return {groups * kWarps * kRows, kColumns, depth, 2 * groups, kColumns / 4, true, key.matrix_rows, 1};
  }
  /// to[row of matrices][depth] of group g: the block's lines of `from`.
  void load_rows(const Matrices& to, const HeldFactor& from, int g, int deep) const;
  /// sums[row][line] = left[row][depth] * the lines of `right`.
  void multiply_lines(const Matrices& sums, const Matrices& left, const HeldFactor& right, int deep) const;
  /// Stores `count` matrices of each row of group g of sums[row][wide], from number `begin` on, in the memory of scores.
  void give(const Matrices& sums, int g, int wide, int begin, int count) const;
  /// results[row][wide] += weights * right, whose lines are the results' columns, or, with `across`, the weights'.
  void add_weighted(const Matrices& results, const HeldFactor& right, int wide, bool across) const;
  /// results[row][wide] of group g *= a factor for each row, which its threads gave by give_factor().
  void scale(const Matrices& results, int g, int wide) const;
  void give_factor(const Expr& factor) const;

  const Shared scores, weights;

 private:
  static constexpr int kStride = kColumns + 8;  // neighbouring threads read from different banks
  int tall() const { return kRows / key_.matrix_rows; }

  Builder& b_;
  const AttentionKey key_;
  const int groups_;
  const Fragment shape_;
  const Expr half_, warp_, own_;  // warp_ and own_: where the warp's and the thread's rows begin
  const Matrix right_, factor_;
  const Matrices left_;
};

/// The least power of two, of kMatrixSide or more, that holds so many columns.
int padded_width(std::int64_t width);

}  // namespace kiln::gpu::family
