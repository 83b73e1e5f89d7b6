// Products of matrices of float32, float64 and integers. Signs make no difference to what a wrapping sum of products is,
// nor does it to bytes that their products and sums have 16 bits.
//
// The result is cut into pieces, each a product on one thread. A piece takes some hundred of the sums' terms at a time:
// its part of the left operand then lies in the second-level cache, and a panel of the right one in the first, while
// tiles of sums are made from them (product_tiles.hpp). Operands are read where they lie. A panel is packed as its first
// tile goes through it, or before where its columns have to be turned over, and a left operand that lies across the
// loops for a block of terms at a time, or whose rows get in each other's way in a cache.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "kiln/backend/cpu/product.hpp"
#include "kiln/backend/cpu/simd/elementwise/through_float32.hpp"
#include "kiln/backend/cpu/simd/product/dots.hpp"
#include "kiln/backend/cpu/simd/product/few_rows.hpp"
#include "kiln/backend/cpu/simd/product/parts.hpp"
#include "kiln/backend/cpu/simd/product/product_tiles.hpp"
#include "kiln/backend/cpu/simd/simd.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::simd {
namespace {

using std::int64_t;

/// Terms that a piece takes at a time, and its rows and columns: measured on Emerald Rapids, with 2 MiB of cache a core.
constexpr int64_t kMostDepth = 384, kMostRows = 240, kMostColumns = 512, kThin = 12;
/// The most terms where one tile has all rows: what is fetched ahead for its neighbour stays in the second-level cache.
constexpr int64_t kMostDepthOfTile = 1024;

/// A matrix that the caches of one core hold, if they hold little else: one among many of a model comes from memory each time.
constexpr int64_t kNearBytes = 1 << 20;
/// And one that they hold beside what else a product needs.
constexpr int64_t kInACore = 1 << 19;

/// So few rows or columns that a long sum is made in a vector's lanes rather than in one of them.
bool is_thin(int64_t lines, int64_t k) { return 24 * lines <= k && lines <= kThin; }
/// Does it pay to compute the transposed product?
bool wants_turning(const Product& p) {
  if (p.m <= p.n ? is_thin(p.m, p.k) : is_thin(p.n, p.k)) return p.n < p.m;
  if (p.b.by_rows()) return !p.a.by_rows() && p.n <= kThin && p.n < p.m;
  // Each piece turns over its part of the right operand; or, of the turned product, the left one and the result.
  return p.a.by_rows() ? 4 * p.m * (p.n + p.k) < p.n * p.k : p.m * p.n < (p.m + p.n) * p.k;
}

/// Is the right operand read once, as it lies? Then pieces have all rows, and columns that are long runs of memory.
template <class T>
bool in_order(const Product& p) {
  return std::is_floating_point_v<T> && p.m <= kMostFewRows<T> && p.b.by_rows() && p.n >= 2 * product_tiles<T>().panel;
}

/// Is a left operand packed whose rows lie across? Not where few tiles read it.
template <class T>
bool packs_left(const Product& p) {
  return p.a.column != 1 && p.m > 1 && p.n > 2 * product_tiles<T>().panel && !in_order<T>(p);
}

/// Do the rows of a tile lie in the same sets of the first-level cache, which cannot hold that many of one set? Then they
/// are moved further apart, where enough tiles read them.
template <class T>
bool moves_left(const Product& p) {
  constexpr int64_t kSetsRepeat = 4096, kFew = 6;  // bytes; rows that a set holds beside what passes through
  return p.a.column == 1 && p.a.row * static_cast<int64_t>(sizeof(T)) % kSetsRepeat == 0 && p.m > kFew &&
         p.n > 2 * product_tiles<T>().panel && !in_order<T>(p);
}

/// Rows and columns of a piece.
struct Piece {
  int64_t rows, columns;
};

/// What a piece costs besides its sums, in rows and columns: to bring its part of an operand where tiles find it, and to
/// read what other pieces read too.
int64_t piece_cost(const Product& p, bool packs, int64_t rows, int64_t columns) {
  const int64_t per_column = p.b.by_rows() ? 10 : 16, per_row = packs ? 56 : 12;
  return p.k * (rows + per_column) * (columns + per_row);
}

/// Pieces with which as many threads as there are will be done soonest: that may depend on their number, since a sum is
/// made in the order of its terms, however the others are cut. A piece packs its part of the left operand for all its
/// columns, and its part of the right one for all its rows: it should have many of those that share what has to be
/// brought into another order. None is smaller than `least`, unless the product is.
template <class T>
Piece cut(const Product& p, const Piece& least) {
  const int64_t matrices = numel(p.batch), all = cost(p.m, p.n, p.k) * matrices, panel = product_tiles<T>().panel;
  const int64_t threads = num_threads(), least_down = divide_up(p.m, kMostRows),
                least_across = divide_up(p.n, in_order<T>(p) ? kMostInOrder : kMostColumns);
  const auto piece_of = [&](int64_t down, int64_t across) {
    return Piece{divide_up(p.m, down), round_up(divide_up(p.n, across), panel)};
  };
  const int64_t worth = all / kWorthAPiece;  // so many pieces at most
  Piece best = piece_of(least_down, least_across);
  if (threads == 1 || worth <= 1) return best;
  if (in_order<T>(p) || is_thin(p.m, p.k)) {
    // Where nothing is packed and read again, all cores may help to read; a row's sums are not to depend on its neighbours.
    const int64_t narrowest = p.b.by_rows() ? 128 : 8, beside = matrices * least_down;
    const int64_t wanted =
        in_order<T>(p) ? round_up(beside * least_across, std::min(worth, threads)) : std::min(worth, int64_t{64});
    const int64_t across = std::clamp(divide_up(wanted, beside), least_across, std::max(p.n / narrowest, least_across));
    return {divide_up(p.m, least_down), round_up(divide_up(p.n, across), std::min(narrowest, panel))};
  }
  const bool packs = packs_left<T>(p);
  int64_t least_time = std::numeric_limits<int64_t>::max();
  const auto consider = [&](int64_t down, int64_t across) {
    const Piece piece = piece_of(down, across);
    const int64_t count = matrices * divide_up(p.m, piece.rows) * divide_up(p.n, piece.columns);
    // A quarter of a piece more, for a thread that other work has held up.
    const int64_t time = (4 * divide_up(count, threads) + 1) * piece_cost(p, packs, piece.rows, piece.columns);
    if (time < least_time) least_time = time, best = piece;
  };
  const int64_t most_down = std::max(p.m / least.rows, least_down),
                most_across = std::max(p.n / least.columns, least_across),
                most = std::max(worth / matrices, least_down * least_across);
  for (const int64_t across :
       {least_across, least_across + 1, 2 * least_across, 3 * least_across, 4 * least_across, 8 * least_across}) {
    if (across > most_across || least_down * across > most) break;
    for (const int64_t rounds : {1, 2, 3, 4, 6}) {
      const int64_t down = std::min({rounds * threads / (matrices * across), most_down, most / across});
      consider(std::max(down, least_down), across);
    }
  }
  return best;
}

template <class T>
const T* numbers_of(const Matrices& x, const Shape& batch, int64_t index) {
  return reinterpret_cast<const T*>(x.data) + x.offset(batch, index);
}

/// What a thread's pieces put aside, one after the other.
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

/// Makes pieces tile by tile.
template <class T>
class Tiled {
 public:
  Tiled(const Product& p, const Epilogue* epilogue) : p_(p), epilogue_(epilogue) {
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

    const bool packs = packs_left<T>(p_), turns_back = c.column != 1, goes_aside = turns_back || epilogue_;
    const int64_t block_row = !goes_aside ? c.row : columns == p_.n ? columns : round_up(columns, tiles_.panel);
    const int64_t panel_size = in_order_ ? 0 : tiles_.panel * depth_,
                  left_size = packs    ? round_up(rows, tiles_.rows) * depth_
                              : moves_ ? rows * apart_
                                       : 0,
                  block_size = goes_aside ? rows * block_row : 0,
                  turned_size = turns_back && epilogue_ ? rows * columns : 0;
    T* const panel = aside.room<T>(panel_size + left_size + block_size + turned_size);
    T* const left_aside = panel + panel_size;
    T* const result = epilogue_ ? left_aside + left_size + block_size
                                : const_cast<T*>(numbers_of<T>(c, p_.batch, index)) + row * c.row + column * c.column;
    T* const block = goes_aside ? left_aside + left_size : result;
    const bool has_target = !turns_back && epilogue_ && epilogue_->target();
    const T* const ahead =
        has_target ? reinterpret_cast<const T*>(epilogue_->target()) + (index * p_.m + row) * p_.n + column : block;
    const int64_t ahead_row = has_target ? p_.n : block_row;

    if constexpr (std::is_floating_point_v<T>)
      if (in_order_) few_rows<T>()(left, a.row, a.column, rows, right, b.row, columns, p_.k, block, block_row);
    for (int64_t k = in_order_ ? p_.k : 0; k < p_.k; k += depth_) {
      const int64_t depth = std::min(depth_, p_.k - k), tile_rows = rows_of_tile(rows, tiles_.rows);
      LeftOperand<T> from{left + k * a.column, a.row, a.column, a.row * tile_rows, a.column == 1 && is_far_};
      if (packs) {
        tiles_.pack_left(from.data, a.column, rows, depth, left_aside);
        from = {left_aside, 1, tile_rows, tile_rows * depth};
      } else if (moves_) {
        for (int64_t i = 0; i < rows; ++i) std::copy_n(from.data + i * a.row, depth, left_aside + i * apart_);
        from = {left_aside, apart_, 1, apart_ * tile_rows};
      }
      tiles_.multiply(from, {right + k * b.row, b.row, b.column}, {block, block_row, ahead, ahead_row}, rows, columns,
                      depth, k > 0, panel);
    }
    if (turns_back) tiles_.turn(block, block_row, result, epilogue_ ? rows : c.column, rows, columns);
    if (!epilogue_) return;
    const auto bytes_of = [](const T* numbers) { return reinterpret_cast<const std::byte*>(numbers); };
    if (turns_back)
      epilogue_->finish({(index * p_.n + column) * p_.m + row, columns, rows, p_.m, bytes_of(result), rows});
    else epilogue_->finish({(index * p_.m + row) * p_.n + column, rows, columns, p_.n, bytes_of(block), block_row});
  }

 private:
  const Product& p_;
  const Epilogue* const epilogue_;  // or null
  const ProductTiles<T>& tiles_ = product_tiles<T>();
  const bool in_order_ = in_order<T>(p_), is_far_ = p_.m * p_.k * static_cast<int64_t>(sizeof(T)) > kInACore;
  const bool moves_ = moves_left<T>(p_);
  int64_t depth_, apart_;  // terms of a block, and from one row that was moved to the next: lines in an odd number
};

/// Makes pieces of few rows, sum by sum.
template <class T>
struct Dotted {
  const Product& p;
  const bool near = p.n * p.k * static_cast<int64_t>(sizeof(T)) <= kNearBytes;
  void run(int64_t index, int64_t row, int64_t rows, int64_t column, int64_t columns, Aside& aside) const {
    const Matrices &a = p.a, &b = p.b, &c = p.c;
    const T* left = numbers_of<T>(a, p.batch, index) + row * a.row;
    int64_t left_row = a.row;
    if (a.column != 1) {
      T* const turned = aside.room<T>(rows * p.k);
      product_tiles<T>().turn(left, a.column, turned, p.k, p.k, rows);
      left = turned, left_row = p.k;
    }
    T* const result = const_cast<T*>(numbers_of<T>(c, p.batch, index)) + row * c.row + column * c.column;
    dots<T>()(left, left_row, numbers_of<T>(b, p.batch, index) + column * b.column, b.column, result, c.row, c.column,
              rows, columns, p.k, near);
  }
};

template <class T, class Kernel>
void run_pieces(const Product& p, const Piece& piece, const Kernel& kernel) {
  const int64_t down = divide_up(p.m, piece.rows), across = divide_up(p.n, piece.columns), matrices = numel(p.batch);
  const int64_t grain =
      std::clamp<int64_t>(kWorthAPiece / cost(std::min(p.m, piece.rows), std::min(p.n, piece.columns), p.k), 1, 64);
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

/// False where pieces are not worth handing to `epilogue`.
template <class T>
bool multiply(Product p, const Epilogue* epilogue) {
  const bool turns = wants_turning(p);
  if (turns) p = turned(p);
  // What is finished run by run needs runs that are worth it.
  Piece least{product_tiles<T>().rows, 2 * product_tiles<T>().panel};
  if (epilogue) (turns ? least.rows : least.columns) = kWorthFinishing;
  const Piece piece = cut<T>(p, least);
  const bool is_dotted = is_thin(p.m, p.k) && !p.b.by_rows();
  if (epilogue && (is_dotted || (turns ? piece.rows < std::min(p.m, kWorthFinishing)
                                       : piece.columns < std::min(p.n, kWorthFinishing))))
    return false;
  if (is_dotted) run_pieces<T>(p, piece, Dotted<T>{p});
  else run_pieces<T>(p, piece, Tiled<T>(p, epilogue));
  return true;
}

bool multiply_bytes(Call call) {
  const Value operands[] = {widened(call.in[0], DType::I16), widened(call.in[1], DType::I16)};
  Value wide(make_ref<Node>(Desc{call.out[0].shape(), DType::I16}, call.out[0].device()));
  if (!run(op::Matmul{}, {operands, {&wide, 1}})) return false;
  narrow(wide, call.out[0]);
  return true;
}

bool multiply(Call call, const Epilogue* epilogue) {
  const DType dtype = call.out[0].dtype();
  if (dtype == DType::BF16 || dtype == DType::F16) return !epilogue && multiply_few_halves(call);
  if (dtype == DType::Bool) return false;
  if (epilogue && is_integer(dtype)) return false;
  for (const Value& operand : call.in)
    if (operand.dtype() != dtype || operand.rank() < 2) return false;
  if (size_of(dtype) == 1) return multiply_bytes(call);
  Value copies[2];
  const Product p = product_of(call, copies, !epilogue);
  if (p.empty()) return !epilogue;
  if (dtype == DType::F32) return multiply<float>(p, epilogue);
  if (dtype == DType::F64) return multiply<double>(p, epilogue);
  if (size_of(dtype) == 2) return multiply<std::int16_t>(p, nullptr);
  if (size_of(dtype) == 4) return multiply<std::int32_t>(p, nullptr);
  return multiply<int64_t>(p, nullptr);
}

}  // namespace

bool run(const op::Matmul&, Call call) { return multiply(call, nullptr); }

bool multiply(const op::Epilogue& op, Call call, const Epilogue& epilogue) {
  return std::holds_alternative<op::Matmul>(op.product) && multiply(call, &epilogue);
}

}  // namespace kiln::cpu::simd
