// Products of float32 and float64 matrices.
//
// The result is cut into pieces, each a product on one thread. A piece takes some hundred of the sums' terms at a time:
// its part of the left operand then lies in the second-level cache, and a panel of the right one in the first, while
// tiles of sums are made from them (product_tiles.hpp). Operands are read where they lie; a panel is packed as its first
// tile goes through it. Only operands that lie across the loops are packed beforehand, once for all pieces where several
// want the same part.
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

/// Terms that a piece takes at a time, and its rows and columns: measured on Emerald Rapids, with 2 MiB of cache a core.
constexpr int64_t kMostDepth = 384, kMostRows = 240, kMostColumns = 512;
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
  return reinterpret_cast<const T*>(x.data) + x.offset(batch, index);
}

/// Packs `count` lines of `depth` numbers for tiles: rows of a left operand whose numbers lie across, columns of a right
/// one; `from` is the first number of the first.
template <class T>
using Pack = void (*)(const T* from, const Matrices& strides, int64_t count, int64_t depth, T* to);

template <class T>
void pack_rows(const T* from, const Matrices& strides, int64_t count, int64_t depth, T* to) {
  product_tiles<T>().pack_left(from, strides.column, count, depth, to);
}

template <class T>
void pack_columns(const T* from, const Matrices& strides, int64_t count, int64_t depth, T* to) {
  const int64_t panel = product_tiles<T>().panel;
  for (; count > 0; count -= panel, from += panel * strides.column, to += panel * depth) {
    const int64_t width = std::min(count, panel);
    Transposer<T>::run(from, strides.column, to, panel, width, depth);
    if (width < panel)
      for (int64_t i = 0; i < depth; ++i) std::fill(to + i * panel + width, to + (i + 1) * panel, T{0});
  }
}

/// The lines of an operand: how many, and in parts of how many they are packed.
struct Lines {
  int64_t count, part;
};

/// Packed operands that several pieces share: for each matrix and each `depth` numbers of its lines, part after part.
template <class T>
class Shared {
 public:
  Shared(const Product& p, const Matrices& x, Lines lines, int64_t line, int64_t along, int64_t depth, Pack<T> pack)
      : batch_(p.batch), matrices_(p.batch), k_(p.k), depth_(depth) {
    for (int i = 0; i < matrices_.size(); ++i)
      if (x.batch[i] == 0) matrices_[i] = 1;
    lines_ = round_up(lines.count, lines.part);
    const int64_t count = numel(matrices_), parts = lines_ / lines.part, blocks = divide_up(k_, depth);
    block_ = make_ref<Memory>(static_cast<std::size_t>(count * k_ * lines_) * sizeof(T));
    const int64_t grain = divide_up(kWorthAThread / 32, std::min(depth, k_) * lines.part);
    parallel_for(count * blocks * parts, grain, [&](int64_t begin, int64_t end) {
      for (int64_t index = begin; index < end; ++index) {
        const int64_t matrix = index / blocks / parts, k = index / parts % blocks * depth,
                      first = index % parts * lines.part, numbers = std::min(depth, k_ - k);
        pack(numbers_of<T>(x, matrices_, matrix) + first * line + k * along, x,
             std::min(lines.part, lines.count - first), numbers, block(matrix, k) + first * numbers);
      }
    });
  }

  /// Of matrix `index` of the result's batch: lines from `first` on, the first of a part, their numbers from k on.
  const T* at(int64_t index, int64_t k, int64_t first) const {
    int64_t matrix = 0, step = 1;
    for (int dim = batch_.size() - 1; dim >= 0; --dim) {
      matrix += index % batch_[dim] % matrices_[dim] * step;
      step *= matrices_[dim];
      index /= batch_[dim];
    }
    return block(matrix, k) + first * std::min(depth_, k_ - k);
  }

 private:
  T* block(int64_t matrix, int64_t k) const {
    return reinterpret_cast<T*>(block_->bytes()) + (matrix * k_ + k) * lines_;
  }

  Shape batch_, matrices_;  // the latter without what the operand repeats
  int64_t k_, depth_, lines_ = 0;
  Ref<Memory> block_;
};

/// Makes pieces tile by tile.
template <class T>
class Tiled {
 public:
  Tiled(const Product& p, const Piece& piece) : p_(p) {
    // Without a second row of tiles there is nothing to keep in a cache.
    depth_ = p.m <= tiles_.rows ? p.k : divide_up(p.k, divide_up(p.k, kMostDepth));
    const auto is_repeated = [](const Matrices& x) {
      return std::find(x.batch.begin(), x.batch.end(), 0) != x.batch.end();
    };
    packs_left_ = p.a.column != 1 && p.m > 1 && p.n > 2 * tiles_.panel;
    packs_right_ = !p.b.by_rows();
    if (packs_left_ && (p.n > piece.columns || is_repeated(p.a)))
      left_.emplace(p, p.a, Lines{p.m, piece.rows}, p.a.row, p.a.column, depth_, pack_rows<T>);
    if (packs_right_ && (p.m > piece.rows || is_repeated(p.b)))
      right_.emplace(p, p.b, Lines{p.n, tiles_.panel}, p.b.column, p.b.row, depth_, pack_columns<T>);
  }

  void run(int64_t index, int64_t row, int64_t rows, int64_t column, int64_t columns) const {
    const Matrices &a = p_.a, &b = p_.b, &c = p_.c;
    const T* const left = numbers_of<T>(a, p_.batch, index) + row * a.row;
    const T* const right = numbers_of<T>(b, p_.batch, index) + column * b.column;
    T* const result = const_cast<T*>(numbers_of<T>(c, p_.batch, index)) + row * c.row + column * c.column;

    const bool turns_back = c.column != 1;
    const int64_t width = round_up(columns, tiles_.panel), block_row = turns_back ? width : c.row;
    const int64_t right_size = (packs_right_ && !right_ ? width : tiles_.panel) * depth_,
                  left_size = packs_left_ && !left_ ? round_up(rows, tiles_.rows) * depth_ : 0,
                  block_size = turns_back ? rows * block_row : 0;
    const Ref<Memory> memory =
        make_ref<Memory>(static_cast<std::size_t>(right_size + left_size + block_size) * sizeof(T));
    T* const right_aside = reinterpret_cast<T*>(memory->bytes());
    T* const left_aside = right_aside + right_size;
    T* const block = turns_back ? left_aside + left_size : result;

    for (int64_t k = 0; k < p_.k; k += depth_) {
      const int64_t depth = std::min(depth_, p_.k - k), tile_rows = rows_of_tile(rows, tiles_.rows);
      LeftOperand<T> from{left + k * a.column, a.row, a.column, a.row * tile_rows};
      if (packs_left_) {
        if (!left_) pack_rows(from.data, a, rows, depth, left_aside);
        from = {left_ ? left_->at(index, k, row) : left_aside, 1, tile_rows, tile_rows * depth};
      }
      RightOperand<T> with{right + k * b.row, b.row, 0};
      if (packs_right_) {
        if (!right_) pack_columns(with.data, b, columns, depth, right_aside);
        with = {right_ ? right_->at(index, k, column) : right_aside, tiles_.panel, tiles_.panel * depth};
      }
      tiles_.multiply(from, with, block, block_row, rows, columns, depth, k > 0, right_aside);
    }
    if (turns_back) Transposer<T>::run(block, block_row, result, c.column, rows, columns);
  }

 private:
  const Product& p_;
  const ProductTiles<T>& tiles_ = product_tiles<T>();
  int64_t depth_;
  bool packs_left_, packs_right_;
  std::optional<Shared<T>> left_, right_;
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
