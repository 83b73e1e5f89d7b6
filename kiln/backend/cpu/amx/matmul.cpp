// Products of bfloat16 matrices on tiles or vectors.
//
// The result is divided into pieces, each a product on one thread that processes kDepth of the sums' terms at a time.
// Packed for tiles, the terms of some 256 rows fit into the second-level cache, and the two operands of one block of 32
// x 32 results fit into the first-level cache. All threads pack the right operand beforehand if several pieces read the
// same part of it. While the blocks of one panel of it are computed, the next panel is prefetched.
#include "kiln/backend/cpu/amx/amx.hpp"

#include <algorithm>
#include <utility>

#include "kiln/backend/cpu/amx/pieces.hpp"
#include "kiln/backend/cpu/amx/tiles.hpp"
#include "kiln/backend/cpu/memory/packing.hpp"
#include "kiln/backend/cpu/product.hpp"
#include "kiln/backend/strided/strided.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::amx {
namespace {

using std::int64_t;
using std::uint16_t;

const uint16_t* numbers_of(const Matrices& x) { return reinterpret_cast<const uint16_t*>(x.data); }

TileLines rows_of(const Product& p, int64_t index, int64_t row, int64_t k) {
  const Matrices& a = p.a;
  return {numbers_of(a) + a.offset(p.batch, index) + row * a.row + k * a.column, a.row, a.column};
}
/// Returns the lines of the matrix that begins `offset` elements after the first one.
TileLines columns_of(const Matrices& b, int64_t offset, int64_t column, int64_t k) {
  return {numbers_of(b) + offset + k * b.row + column * b.column, b.column, b.row};
}

/// Packs `count` lines, one block of kBlock after the other. It reads along memory: lines that cross it are packed
/// together.
template <void (*Pack)(const TileLines&, int64_t, int64_t, uint16_t*)>
void pack_blocks(const TileLines& lines, int64_t count, int64_t depth, uint16_t* packed) {
  const int64_t step = lines.along == 1 ? depth : kPairs;
  for (int64_t j = 0; j < depth; j += step)
    for (int64_t i = 0; i < count; i += kBlock) {
      const int64_t width = std::min(kBlock, count - i);
      Pack({lines.data + i * lines.line + j * lines.along, lines.line, lines.along}, width, std::min(step, depth - j),
           packed + i / kBlock * packed_size(kBlock, depth) + j * round_up(width, kTile));
    }
}

/// Packs right operands k x n as pieces read them: for each matrix, for each kDepth of its rows, its blocks of columns.
struct PackRight {
  int64_t n, k, row, column;  // strides in elements
  Shape batch;                // without dimensions along which the operand repeats
  Dims steps;

  int64_t matrix_size() const { return packed_size(n, k); }
  std::size_t bytes() const { return static_cast<std::size_t>(numel(batch) * matrix_size()) * sizeof(uint16_t); }
  /// Returns where a block of columns begins, from row `at` on.
  int64_t place(int64_t matrix, int64_t first, int64_t at) const {
    return matrix * matrix_size() + at * round_up(n, kTile) + first * round_up(std::min(kDepth, k - at), kPairs);
  }
  void pack(const std::byte* from, std::byte* to) const {
    const Matrices right{const_cast<std::byte*>(from), row, column, steps};
    constexpr int64_t kColumns = 16 * kBlock;
    const int64_t across = divide_up(n, kColumns), down = divide_up(k, kDepth);
    parallel_for(numel(batch) * down * across, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const int64_t first = part % across * kColumns, at = part / across % down * kDepth,
                      matrix = part / (across * down);
        pack_blocks<pack_right>(columns_of(right, right.offset(batch, matrix), first, at),
                                std::min(kColumns, n - first), std::min(kDepth, k - at),
                                reinterpret_cast<uint16_t*>(to) + place(matrix, first, at));
      }
    });
  }
};

/// The right operands, packed by all threads before the pieces begin.
class PackedRight {
 public:
  /// Packs `operand`, which caches the result from the second time on. Without `always` the result may be empty before
  /// that.
  PackedRight(const Product& p, const Value& operand, bool always)
      : batch_(p.batch),
        packer_{p.n, p.k, p.b.row, p.b.column, p.b.distinct(p.batch), p.b.batch},
        matrices_(strided::broadcast_strides(packer_.batch, contiguous_strides(packer_.batch), batch_)),
        block_(always ? packed(operand, packer_) : kept(operand, packer_)) {}
  explicit operator bool() const { return static_cast<bool>(block_); }

  const uint16_t* at(int64_t index, int64_t column, int64_t k) const {
    const int64_t place = packer_.place(offset_of(batch_, matrices_, index), column, k);
    return reinterpret_cast<const uint16_t*>(block_->bytes()) + place;
  }

 private:
  Shape batch_;
  PackRight packer_;
  Dims matrices_;  // the packed matrices' strides over the batch
  Ref<Memory> block_;
};

/// Computes rows [row, row + rows), and columns in the same way, of product `index`, for `epilogue` if there is one.
void run_piece(const Product& p, const PackedRight* right, const Epilogue* epilogue, int64_t index, int64_t row,
               int64_t rows, int64_t column, int64_t columns) {
  const int64_t deepest = std::min(kDepth, p.k), across = divide_up(columns, kBlock), down = divide_up(rows, kBlock);
  const int64_t left_size = packed_size(round_up(rows, kBlock), deepest);
  const int64_t right_size = right ? 0 : packed_size(round_up(columns, kBlock), deepest);
  const int64_t result_size = epilogue ? round_up(rows * columns, kPairs) : 0;  // the sums begin at a cache line
  const bool at_once = p.k <= kDepth;                                           // one block has sums at a time
  const auto [left, sums] = scratch(left_size + right_size + result_size, (at_once ? 1 : across * down) * kSums);
  uint16_t* const own_right = left + left_size;
  uint16_t* const result =
      epilogue ? own_right + right_size
               : reinterpret_cast<uint16_t*>(p.c.data) + p.c.offset(p.batch, index) + row * p.c.row + column;
  const int64_t result_step = epilogue ? columns : p.c.row;

  const Tiles tiles;
  for (int64_t k = 0; k < p.k; k += kDepth) {
    const int64_t depth = std::min(kDepth, p.k - k), step = packed_size(kBlock, depth);
    pack_blocks<pack_left>(rows_of(p, index, row, k), rows, depth, left);
    if (!right)
      pack_blocks<pack_right>(columns_of(p.b, p.b.offset(p.batch, index), column, k), columns, depth, own_right);
    const uint16_t* const columns_packed = right ? right->at(index, column, k) : own_right;
    for (int64_t j = 0; j < across; ++j)
      for (int64_t i = 0; i < down; ++i) {
        const int64_t rows_left = rows - i * kBlock, columns_left = columns - j * kBlock;
        Ahead ahead;  // the part of the next panel that this block prefetches
        if (j + 1 < across) ahead = {columns_packed + (j + 1) * step + i * step / down, step / down};
        float* const block = sums + (at_once ? 0 : (j * down + i) * kSums);
        Rounded rounded;
        if (k + depth == p.k) rounded = {result + i * kBlock * result_step + j * kBlock, result_step};
        multiply(left + i * step, columns_packed + j * step, rows_left, columns_left, depth, k > 0, block, kTileByTile,
                 rounded, ahead);
      }
  }
  if (epilogue)
    epilogue->finish(
        {(index * p.m + row) * p.n + column, rows, columns, p.n, reinterpret_cast<const std::byte*>(result), columns});
}

/// `operand` owns the memory of p.b.
void run_pieces(const Product& p, const Value& operand, const PieceSize& piece, const Epilogue* epilogue) {
  const int64_t down = divide_up(p.m, piece.rows), across = divide_up(p.n, piece.columns), matrices = numel(p.batch);
  const bool is_repeated = std::find(p.b.batch.begin(), p.b.batch.end(), 0) != p.b.batch.end();
  const PackedRight right(p, operand, down > 1 || is_repeated);

  // Many small products form one piece.
  const int64_t together = std::clamp<int64_t>(kMinOpsPerPiece / cost(piece.rows, piece.columns, p.k), 1, 64);
  parallel_for(matrices * down * across, together, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      int64_t rest = part;
      const auto next = [&rest](int64_t size) { return std::exchange(rest, rest / size) % size; };
      const int64_t row = next(down) * piece.rows, column = next(across) * piece.columns;
      run_piece(p, right ? &right : nullptr, epilogue, rest, row, std::min(piece.rows, p.m - row), column,
                std::min(piece.columns, p.n - column));
    }
  });
}

}  // namespace

bool multiply(Call call, const Epilogue* epilogue) {
  Value copies[2];
  const Product p = product_of(call, copies, !epilogue);
  const PieceSize piece = cut(p.m, p.n, p.k, numel(p.batch));
  if (epilogue && piece.columns < std::min(p.n, kMinEpilogueRun)) return false;
  run_pieces(p, copies[1].node() ? copies[1] : call.in[1], piece, epilogue);
  return true;
}

}  // namespace kiln::cpu::amx
