// Products of matrices of float32, float64 and integers of 16 bits and more. A wrapping sum of products is the same for
// signed and unsigned integers.
//
// The result is divided into pieces, each a product on one thread. A piece processes some hundred of the sums' terms at
// a time: its part of the left operand then stays in the second-level cache, and a panel of the right one in the
// first-level cache, while tiles of sums are computed from them (product_tiles.hpp). Operands are read in place where
// possible. A panel is packed while its first tile reads it, or before if its columns must be transposed. A left
// operand with strided rows, or with rows that share cache sets, is packed for a block of terms at a time.
#include "kiln/backend/cpu/simd/product/matmul.hpp"

#include <algorithm>
#include <utility>

#include "kiln/backend/cpu/simd/product/cut.hpp"
#include "kiln/backend/cpu/simd/product/dots.hpp"
#include "kiln/backend/cpu/simd/product/few_rows.hpp"
#include "kiln/backend/cpu/simd/product/product_tiles.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::simd {
namespace {

using std::int64_t;

/// The most terms if one tile has all rows: what is prefetched for its neighbour stays in the second-level cache.
constexpr int64_t kMostDepthOfTile = 1024;  // bench: sweep linear

/// A matrix of at most so many bytes stays in the caches of one core if little else is used: one among many of a model
/// comes from memory each time.
constexpr int64_t kNearBytes = 1 << 20;  // bench: suite gpt2_124M_decode
/// A matrix of at most so many bytes stays there together with the other data of a product.
constexpr int64_t kInACore = 1 << 19;  // bench: suite matmul_*

template <class T>
const T* numbers_of(const Matrices& x, const Shape& batch, int64_t index) {
  return reinterpret_cast<const T*>(x.data) + x.offset(batch, index);
}

/// The scratch memory of a thread's pieces, allocated in sequence.
class Aside {
 public:
  template <class T>
  T* room(int64_t numbers) {
    const std::size_t bytes = static_cast<std::size_t>(numbers) * sizeof(T);
    if (!memory_ || memory_->size() < bytes) memory_ = make_ref<Memory>(bytes);
    return reinterpret_cast<T*>(memory_->bytes());
  }

 private:
  Ref<Memory> memory_;
};

/// Computes pieces tile by tile.
template <class T>
class Tiled {
 public:
  /// `epilogue` consumes the pieces, or `finish` says what to do with the elements that are stored.
  Tiled(const Product& p, bool in_order, const Epilogue* epilogue, const SimpleEpilogue* finish)
      : p_(p),
        epilogue_(epilogue),
        simple_(finish),
        in_order_(in_order),
        packs_(!in_order && packs_left<T>(p)),
        moves_(!in_order && moves_left<T>(p)) {
    // Without a second row of tiles there is nothing to keep in a cache.
    const int64_t most = p.m > tiles_.rows || !p.b.by_rows() ? kMostDepth : p.m > 1 ? kMostDepthOfTile : p.k;
    depth_ = divide_up(p.k, divide_up(p.k, most));
    constexpr auto kLine = static_cast<int64_t>(64 / sizeof(T));
    apart_ = (divide_up(depth_, kLine) | 1) * kLine;
  }

  void run(int64_t index, int64_t row, int64_t rows, int64_t column, int64_t columns, Aside& aside) const {
    const Matrices &a = p_.a, &b = p_.b, &c = p_.c;
    const T* const left = numbers_of<T>(a, p_.batch, index) + row * a.row;
    const T* const right = numbers_of<T>(b, p_.batch, index) + column * b.column;

    const bool transposes_back = c.column != 1, goes_aside = transposes_back || epilogue_;
    const int64_t block_row = !goes_aside ? c.row : columns == p_.n ? columns : round_up(columns, tiles_.panel);
    const int64_t panel_size = in_order_ ? 0 : tiles_.panel * depth_,
                  left_size = packs_   ? round_up(rows, tiles_.rows) * depth_
                              : moves_ ? rows * apart_
                                       : 0,
                  block_size = goes_aside ? rows * block_row : 0,
                  turned_size = transposes_back && epilogue_ ? rows * columns : 0;
    T* const panel = aside.room<T>(panel_size + left_size + block_size + turned_size);
    T* const left_aside = panel + panel_size;
    T* const result = epilogue_ ? left_aside + left_size + block_size
                                : const_cast<T*>(numbers_of<T>(c, p_.batch, index)) + row * c.row + column * c.column;
    T* const block = goes_aside ? left_aside + left_size : result;
    const bool has_target = !transposes_back && epilogue_ && epilogue_->target();
    const T* const ahead =
        has_target ? reinterpret_cast<const T*>(epilogue_->target()) + (index * p_.m + row) * p_.n + column : block;
    const int64_t ahead_row = has_target ? p_.n : block_row;

    if constexpr (std::is_floating_point_v<T>)
      if (in_order_) few_rows<T>()(left, a.row, a.column, rows, right, b.row, columns, p_.k, block, block_row);
    for (int64_t k = in_order_ ? p_.k : 0; k < p_.k; k += depth_) {
      const int64_t depth = std::min(depth_, p_.k - k), tile_rows = rows_of_tile(rows, tiles_.rows);
      LeftOperand<T> from{left + k * a.column, a.row, a.column, a.row * tile_rows, a.column == 1 && is_far_};
      if (packs_) {
        tiles_.pack_left(from.data, a.column, rows, depth, left_aside);
        from = {left_aside, 1, tile_rows, tile_rows * depth};
      } else if (moves_) {
        for (int64_t i = 0; i < rows; ++i) std::copy_n(from.data + i * a.row, depth, left_aside + i * apart_);
        from = {left_aside, apart_, 1, apart_ * tile_rows};
      }
      const bool last = k + depth == p_.k;
      tiles_.multiply(from, {right + k * b.row, b.row, b.column},
                      {block, block_row, ahead, ahead_row, last ? tail(block, column) : ProductTail<T>{}}, rows,
                      columns, depth, k > 0, panel);
    }
    if (transposes_back) tiles_.transpose(block, block_row, result, epilogue_ ? rows : c.column, rows, columns);
    if (!epilogue_) return;
    const auto bytes_of = [](const T* numbers) { return reinterpret_cast<const std::byte*>(numbers); };
    if (transposes_back)
      epilogue_->finish({(index * p_.n + column) * p_.m + row, columns, rows, p_.m, bytes_of(result), rows});
    else epilogue_->finish({(index * p_.m + row) * p_.n + column, rows, columns, p_.n, bytes_of(block), block_row});
  }

 private:
  /// Returns the epilogue of a block of the result that begins in that column.
  ProductTail<T> tail(const T* block, int64_t column) const {
    if constexpr (std::is_same_v<T, float>) {
      if (simple_) {
        const int64_t place = block - simple_->to;
        return {simple_->bias ? simple_->bias + column : nullptr,
                simple_->more ? simple_->more + place : nullptr,
                p_.c.row,
                simple_->has_bounds(),
                simple_->low,
                simple_->high};
      }
    }
    return {};
  }

  const Product& p_;
  const Epilogue* const epilogue_;      // or null
  const SimpleEpilogue* const simple_;  // or null
  const ProductTiles<T>& tiles_ = product_tiles<T>();
  const bool in_order_, packs_, moves_, is_far_ = p_.m * p_.k * static_cast<int64_t>(sizeof(T)) > kInACore;
  int64_t depth_,
      apart_;  // terms of a block, and the distance of rows that were copied apart: an odd number of cache lines
};

/// Computes pieces of few rows, sum by sum.
template <class T>
struct Dotted {
  const Product& p;
  const bool near = p.n * p.k * static_cast<int64_t>(sizeof(T)) <= kNearBytes;
  void run(int64_t index, int64_t row, int64_t rows, int64_t column, int64_t columns, Aside& aside) const {
    const Matrices &a = p.a, &b = p.b, &c = p.c;
    const T* left = numbers_of<T>(a, p.batch, index) + row * a.row;
    int64_t left_row = a.row;
    if (a.column != 1) {
      T* const transposed = aside.room<T>(rows * p.k);
      product_tiles<T>().transpose(left, a.column, transposed, p.k, p.k, rows);
      left = transposed, left_row = p.k;
    }
    T* const result = const_cast<T*>(numbers_of<T>(c, p.batch, index)) + row * c.row + column * c.column;
    dots<T>()(left, left_row, numbers_of<T>(b, p.batch, index) + column * b.column, b.column, result, c.row, c.column,
              rows, columns, p.k, near);
  }
};

template <class T, class Kernel>
void run_pieces(const Product& p, const PieceSize& piece, const Kernel& kernel) {
  const int64_t down = divide_up(p.m, piece.rows), across = divide_up(p.n, piece.columns), matrices = numel(p.batch);
  const int64_t grain =
      std::clamp<int64_t>(kMinOpsPerPiece / cost(std::min(p.m, piece.rows), std::min(p.n, piece.columns), p.k), 1, 64);
  parallel_for(matrices * down * across, grain, [&](int64_t begin, int64_t end) {
    Aside aside;
    for (int64_t part = begin; part < end; ++part) {
      int64_t rest = part;
      const auto next = [&rest](int64_t size) { return std::exchange(rest, rest / size) % size; };
      const int64_t row = next(down) * piece.rows, column = next(across) * piece.columns;
      kernel.run(rest, row, std::min(piece.rows, p.m - row), column, std::min(piece.columns, p.n - column), aside);
    }
  });
}

template <class T>
bool multiply(Product p, ProductWay way, const Epilogue* epilogue) {
  const bool transposes = way.transposed, is_dotted = way.algorithm == Algorithm::Dots,
             in_order = way.algorithm == Algorithm::FewRows;
  if (transposes) p = transposed(p);
  const SimpleEpilogue* const finish =
      epilogue && !transposes && !is_dotted && !in_order ? epilogue->simple() : nullptr;
  if (finish) p.c.data = reinterpret_cast<std::byte*>(finish->to), epilogue = nullptr;
  // An epilogue that runs row by row needs rows of a minimum length.
  PieceSize least{product_tiles<T>().rows, 2 * product_tiles<T>().panel};
  if (epilogue) (transposes ? least.rows : least.columns) = kMinEpilogueRun;
  const PieceSize piece = cut<T>(p, in_order, least);
  if (epilogue && (is_dotted || (transposes ? piece.rows < std::min(p.m, kMinEpilogueRun)
                                            : piece.columns < std::min(p.n, kMinEpilogueRun))))
    return false;
  if (is_dotted) run_pieces<T>(p, piece, Dotted<T>{p});
  else run_pieces<T>(p, piece, Tiled<T>(p, in_order, epilogue, finish));
  return true;
}

}  // namespace

bool multiply_matrices(const Product& p, ProductWay way, const Epilogue* epilogue) {
  if (p.dtype == DType::F32) return multiply<float>(p, way, epilogue);
  if (p.dtype == DType::F64) return multiply<double>(p, way, epilogue);
  if (epilogue) return false;
  if (size_of(p.dtype) == 2) return multiply<std::int16_t>(p, way, nullptr);
  if (size_of(p.dtype) == 4) return multiply<std::int32_t>(p, way, nullptr);
  return multiply<int64_t>(p, way, nullptr);
}

}  // namespace kiln::cpu::simd
