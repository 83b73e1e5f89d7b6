// Products of float32 and float64 matrices.
//
// The result is cut into pieces, each a product on one thread. A piece takes kDepth of the sums' terms at a time: its part
// of the left operand then lies in the second-level cache, and a panel of the right one in the first, while tiles of sums
// are made from them (product_tiles.hpp). Operands are read where they lie. What is packed is a right operand whose
// columns lie across its rows, once for all pieces; a panel of another, as its first tile goes through it; and a left
// operand whose rows lie across its columns.
#include <algorithm>
#include <optional>
#include <utility>

#include "kiln/backend/cpu/product.hpp"
#include "kiln/backend/cpu/simd/product_tiles.hpp"
#include "kiln/backend/cpu/simd/simd.hpp"
#include "kiln/backend/cpu/transpose.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::simd {
namespace {

using std::int64_t;

constexpr int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return divide_up(a, b) * b; }

constexpr int64_t kMostDepth = 384;
constexpr int64_t kMostRows = 240, kMostColumns = 512;
/// So few rows or columns that it does not pay to bring the other operand into another order.
constexpr int64_t kThin = 8;

/// What a product costs, in floating-point operations; the 4 stands for the traffic of thin matrices.
int64_t cost(int64_t m, int64_t n, int64_t k) { return 2 * k * (m + 4) * (n + 4); }
constexpr int64_t kWorthAThread = 1 << 21;  // some 10 us

Matrices transposed(Matrices x) {
  std::swap(x.row, x.column);
  return x;
}
/// c^T = b^T a^T
Product turned(Product p) {
  std::swap(p.m, p.n);
  std::swap(p.a, p.b);
  for (Matrices* x : {&p.a, &p.b, &p.c}) *x = transposed(*x);
  return p;
}
/// Does it pay to compute the transposed product?
bool wants_turning(const Product& p) {
  if (std::min(p.m, p.n) <= kThin) return p.n < p.m;
  if (p.b.by_rows()) return false;
  // The right operand has to be transposed; or, of the turned product, the left one and the result.
  return (p.a.column == 1 ? p.m * p.k : 0) + p.m * p.n < p.n * p.k;
}

/// Rows and columns of a piece.
struct Piece {
  int64_t rows, columns;
};

/// Depends on the sizes alone.
template <class T>
Piece cut(const Product& p) {
  const ProductTiles<T>& tiles = product_tiles<T>();
  const int64_t all = cost(p.m, p.n, p.k) * numel(p.batch);
  const int64_t wanted = std::clamp<int64_t>(all >> 29, std::clamp<int64_t>(all / kWorthAThread, 1, 12), 64);
  const auto even = [](int64_t size, int64_t most, int64_t multiple) {
    return round_up(divide_up(size, divide_up(size, most)), multiple);
  };
  Piece piece{even(p.m, kMostRows, tiles.rows), even(p.n, kMostColumns, tiles.panel)};
  const auto count = [&] { return numel(p.batch) * divide_up(p.m, piece.rows) * divide_up(p.n, piece.columns); };
  const auto halve = [&](int64_t& size, int64_t least, int64_t multiple) {
    while (count() < wanted && size >= 2 * least) size = round_up(divide_up(size, 2), multiple);
  };
  halve(piece.columns, 256, tiles.panel);
  halve(piece.rows, 120, tiles.rows);
  halve(piece.columns, 128, tiles.panel);
  halve(piece.rows, 96, tiles.rows);
  halve(piece.columns, 64, tiles.panel);
  return piece;
}

template <class T>
const T* numbers_of(const Matrices& x, const Shape& batch, int64_t index) {
  int64_t offset = 0;
  for (int dim = batch.size() - 1; dim >= 0; --dim) {
    offset += index % batch[dim] * x.batch[dim];
    index /= batch[dim];
  }
  return reinterpret_cast<const T*>(x.data) + offset;
}

/// Packs a right operand whose columns lie across its rows: `columns` of them from `column` on, rows from k on.
template <class T>
void pack_right(const T* b, const Matrices& strides, int64_t k, int64_t depth, int64_t column, int64_t columns, T* to) {
  const ProductTiles<T>& tiles = product_tiles<T>();
  b += k * strides.row + column * strides.column;
  for (; columns > 0; columns -= tiles.panel, b += tiles.panel * strides.column, to += tiles.panel * depth) {
    const int64_t width = std::min(columns, tiles.panel);
    Transposer<T>::run(b, strides.column, to, tiles.panel, width, depth);
    if (width < tiles.panel)
      for (int64_t i = 0; i < depth; ++i) std::fill(to + i * tiles.panel + width, to + (i + 1) * tiles.panel, T{0});
  }
}

/// Packed right operands that several pieces share: for each matrix and each `depth` of its rows, its panels.
template <class T>
class SharedRight {
 public:
  SharedRight(const Product& p, int64_t depth) : p_(p), depth_(depth), matrices_(p.batch) {
    for (int i = 0; i < matrices_.size(); ++i)
      if (p.b.batch[i] == 0) matrices_[i] = 1;
    panel_ = product_tiles<T>().panel;
    width_ = round_up(p.n, panel_);
    const int64_t count = numel(matrices_);
    block_ = make_ref<Memory>(static_cast<std::size_t>(count * p.k * width_) * sizeof(T));
    const int64_t panels = width_ / panel_, blocks = divide_up(p.k, depth);
    const int64_t grain = divide_up(kWorthAThread / 32, std::min(depth, p.k) * panel_);
    parallel_for(count * blocks * panels, grain, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const int64_t matrix = part / blocks / panels, k = part / panels % blocks * depth,
                      column = part % panels * panel_, rows = std::min(depth, p.k - k);
        pack_right(numbers_of<T>(p.b, matrices_, matrix), p.b, k, rows, column, std::min(panel_, p.n - column),
                   panels_of(matrix, k) + column * rows);
      }
    });
  }

  /// Of matrix `index` of the result's batch: rows from k on, columns from `column` on, the first of a panel.
  RightOperand<T> at(int64_t index, int64_t k, int64_t column) const {
    int64_t matrix = 0, step = 1;
    for (int dim = p_.batch.size() - 1; dim >= 0; --dim) {
      matrix += index % p_.batch[dim] % matrices_[dim] * step;
      step *= matrices_[dim];
      index /= p_.batch[dim];
    }
    const int64_t depth = std::min(depth_, p_.k - k);
    return {panels_of(matrix, k) + column * depth, panel_, panel_ * depth};
  }

 private:
  T* panels_of(int64_t matrix, int64_t k) const {
    return reinterpret_cast<T*>(block_->bytes()) + (matrix * p_.k + k) * width_;
  }

  const Product& p_;
  int64_t depth_, panel_, width_;
  Shape matrices_;  // the batch without what b repeats
  Ref<Memory> block_;
};

/// Makes pieces tile by tile.
template <class T>
class Tiled {
 public:
  Tiled(const Product& p, const Piece& piece) : p_(p) {
    // Without a second row of tiles there is nothing to keep in a cache.
    depth_ = p.m <= tiles_.rows ? p.k : divide_up(p.k, divide_up(p.k, kMostDepth));
    const bool is_repeated = std::find(p.b.batch.begin(), p.b.batch.end(), 0) != p.b.batch.end();
    if (!p.b.by_rows() && (p.m > piece.rows || is_repeated)) right_.emplace(p, depth_);
  }

  void run(int64_t index, int64_t row, int64_t rows, int64_t column, int64_t columns) const {
    const Matrices &a = p_.a, &b = p_.b, &c = p_.c;
    const T* const left = numbers_of<T>(a, p_.batch, index) + row * a.row;
    const T* const right = numbers_of<T>(b, p_.batch, index);
    T* const result = const_cast<T*>(numbers_of<T>(c, p_.batch, index)) + row * c.row + column * c.column;
    const int64_t tile_rows = rows_of_tile(rows, tiles_.rows);

    const bool packs_left = a.column != 1 && columns > 2 * tiles_.panel && rows > 1;
    const bool packs_right = !right_ && !b.by_rows(), turns_back = c.column != 1;
    const int64_t left_size = packs_left ? round_up(rows, tiles_.rows) * depth_ : 0;
    const int64_t right_size = (packs_right ? round_up(columns, tiles_.panel) : tiles_.panel) * depth_;
    const int64_t block_row = turns_back ? round_up(columns, tiles_.panel) : c.row;
    const int64_t block_size = turns_back ? rows * block_row : 0;
    const Ref<Memory> memory =
        make_ref<Memory>(static_cast<std::size_t>(right_size + left_size + block_size) * sizeof(T));
    T* const right_aside = reinterpret_cast<T*>(memory->bytes());
    T* const left_aside = right_aside + right_size;
    T* const block = turns_back ? left_aside + left_size : result;

    for (int64_t k = 0; k < p_.k; k += depth_) {
      const int64_t depth = std::min(depth_, p_.k - k);
      LeftOperand<T> from{left + k * a.column, a.row, a.column, a.row * tile_rows};
      if (packs_left) {
        tiles_.pack_left(from.data, a.column, rows, depth, left_aside);
        from = {left_aside, 1, tile_rows, tile_rows * depth};
      }
      RightOperand<T> with{right + k * b.row + column, b.row, 0};
      if (right_) with = right_->at(index, k, column);
      if (packs_right) {
        pack_right(right, b, k, depth, column, columns, right_aside);
        with = {right_aside, tiles_.panel, tiles_.panel * depth};
      }
      tiles_.multiply(from, with, block, block_row, rows, columns, depth, k > 0, right_aside);
    }
    if (turns_back) Transposer<T>::run(block, block_row, result, c.column, rows, columns);
  }

 private:
  const Product& p_;
  const ProductTiles<T>& tiles_ = product_tiles<T>();
  int64_t depth_;
  std::optional<SharedRight<T>> right_;
};

/// Makes pieces of few rows, sum by sum.
template <class T>
struct Dotted {
  const Product& p;
  void run(int64_t index, int64_t row, int64_t rows, int64_t column, int64_t columns) const {
    const Matrices &a = p.a, &b = p.b, &c = p.c;
    const T* left = numbers_of<T>(a, p.batch, index) + row * a.row;
    int64_t left_row = a.row;
    Ref<Memory> memory;
    if (a.column != 1) {
      memory = make_ref<Memory>(static_cast<std::size_t>(rows * p.k) * sizeof(T));
      T* const aside = reinterpret_cast<T*>(memory->bytes());
      Transposer<T>::run(left, a.column, aside, p.k, p.k, rows);
      left = aside, left_row = p.k;
    }
    T* const result = const_cast<T*>(numbers_of<T>(c, p.batch, index)) + row * c.row + column * c.column;
    product_tiles<T>().dot(left, left_row, numbers_of<T>(b, p.batch, index) + column * b.column, b.column, result,
                           c.row, c.column, rows, columns, p.k);
  }
};

template <class T, class Kernel>
void run_pieces(const Product& p, const Piece& piece, const Kernel& kernel) {
  const int64_t down = divide_up(p.m, piece.rows), across = divide_up(p.n, piece.columns), matrices = numel(p.batch);
  const int64_t grain =
      std::clamp<int64_t>(kWorthAThread / cost(std::min(p.m, piece.rows), std::min(p.n, piece.columns), p.k), 1, 64);
  parallel_for(matrices * down * across, grain, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      int64_t rest = part;
      const auto next = [&rest](int64_t size) { return std::exchange(rest, rest / size) % size; };
      const int64_t row = next(down) * piece.rows, column = next(across) * piece.columns;
      kernel.run(rest, row, std::min(piece.rows, p.m - row), column, std::min(piece.columns, p.n - column));
    }
  });
}

template <class T>
void multiply(Product p) {
  if (wants_turning(p)) p = turned(p);
  const Piece piece = cut<T>(p);
  if (p.m <= kThin && p.b.row == 1) run_pieces<T>(p, piece, Dotted<T>{p});
  else run_pieces<T>(p, piece, Tiled<T>(p, piece));
}

}  // namespace

bool run(const op::Matmul&, Call call) {
  const DType dtype = call.out[0].dtype();
  if (dtype != DType::F32 && dtype != DType::F64) return false;
  for (const Value& operand : call.in)
    if (operand.dtype() != dtype || operand.rank() < 2) return false;
  Value copies[2];
  const Product p = product_of(call, copies);
  if (p.empty()) return true;
  if (dtype == DType::F32) multiply<float>(p);
  else multiply<double>(p);
  return true;
}

}  // namespace kiln::cpu::simd
