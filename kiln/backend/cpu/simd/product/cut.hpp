// How a matrix product is divided into pieces, and what a piece does with its operands.
#pragma once
#include <algorithm>
#include <limits>

#include "kiln/backend/cpu/simd/product/parts.hpp"
#include "kiln/backend/cpu/simd/product/product_tiles.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::simd {

/// The terms that a piece processes at a time, and its rows and columns: together with its result they fit into 2 MiB
/// of second-level cache. bench: suite matmul_*, sweep matmul
inline constexpr std::int64_t kMostDepth = 512, kMostRows = 240, kMostColumns = 512;

/// Whether a left operand with strided rows is packed. It is not if few tiles read it. FewRows uses neither this nor
/// moves_left().
template <class T>
bool packs_left(const Product& p) {
  return p.a.column != 1 && p.m > 1 && p.n > 2 * product_tiles<T>().panel;
}

/// Whether the rows of a tile map to the same sets of the first-level cache, which cannot hold so many of one set. Then
/// they are copied to greater distances, if enough tiles read them.
template <class T>
bool moves_left(const Product& p) {
  constexpr std::int64_t kSetsRepeat = 4096, kFew = 6;  // bytes; rows that a set holds besides streaming data
  return p.a.column == 1 && p.a.row * static_cast<std::int64_t>(sizeof(T)) % kSetsRepeat == 0 && p.m > kFew &&
         p.n > 2 * product_tiles<T>().panel;
}

/// The rows and columns of a piece.
struct PieceSize {
  std::int64_t rows, columns;
};

/// Returns the cost of a piece, in terms of its rows and columns: its sums, bringing its part of an operand into the
/// order of tiles, and reading what other pieces read too.
inline std::int64_t piece_cost(const Product& p, bool packs, std::int64_t rows, std::int64_t columns) {
  const std::int64_t per_column = p.b.by_rows() ? 10 : 16, per_row = packs ? 56 : 12;
  return p.k * (rows + per_column) * (columns + per_row);
}

/// Chooses the pieces with which the available threads finish soonest. This may depend on the number of threads, since
/// a sum is computed in the order of its terms for any division. A piece packs its part of the left operand for all its
/// columns, and its part of the right one for all its rows: it should have many of those that share packed data. No
/// piece is smaller than `least`, unless the product is. `in_order`: the right operand is read once, in place
/// (FewRows); then pieces have all rows, and columns that are long runs of memory.
template <class T>
PieceSize cut(const Product& p, bool in_order, const PieceSize& least) {
  const std::int64_t matrices = numel(p.batch), all = cost(p.m, p.n, p.k) * matrices, panel = product_tiles<T>().panel;
  const std::int64_t threads = num_threads(), least_down = divide_up(p.m, kMostRows),
                     least_across = divide_up(p.n, in_order ? kMostInOrder : kMostColumns);
  const auto piece_of = [&](std::int64_t down, std::int64_t across) {
    return PieceSize{divide_up(p.m, down), round_up(divide_up(p.n, across), panel)};
  };
  const std::int64_t worth = all / kMinOpsPerPiece;  // the largest useful number of pieces
  PieceSize best = piece_of(least_down, least_across);
  if (threads == 1 || worth <= 1) return best;
  if (in_order || is_thin(p.m, p.k)) {
    // If nothing is packed or read twice, all cores may share the reading; a row's sums must not depend on its
    // neighbours.
    const std::int64_t narrowest = p.b.by_rows() ? 128 : 8, beside = matrices * least_down;
    const std::int64_t wanted =
        in_order ? round_up(beside * least_across, std::min(worth, threads)) : std::min(worth, std::int64_t{64});
    const std::int64_t across =
        std::clamp(divide_up(wanted, beside), least_across, std::max(p.n / narrowest, least_across));
    return {divide_up(p.m, least_down), round_up(divide_up(p.n, across), std::min(narrowest, panel))};
  }
  const bool packs = packs_left<T>(p);
  std::int64_t least_time = std::numeric_limits<std::int64_t>::max();
  const auto consider = [&](std::int64_t down, std::int64_t across) {
    const PieceSize piece = piece_of(down, across);
    const std::int64_t count = matrices * divide_up(p.m, piece.rows) * divide_up(p.n, piece.columns);
    // A quarter of a piece is added, for a thread that other work delays.
    const std::int64_t time = (4 * divide_up(count, threads) + 1) * piece_cost(p, packs, piece.rows, piece.columns);
    if (time < least_time) least_time = time, best = piece;
  };
  const std::int64_t most_down = std::max(p.m / least.rows, least_down),
                     most_across = std::max(p.n / least.columns, least_across),
                     most = std::max(worth / matrices, least_down * least_across);
  for (const std::int64_t across :
       {least_across, least_across + 1, 2 * least_across, 3 * least_across, 4 * least_across, 8 * least_across}) {
    if (across > most_across || least_down * across > most) break;
    for (const std::int64_t rounds : {1, 2, 3, 4, 6}) {
      const std::int64_t down = std::min({rounds * threads / (matrices * across), most_down, most / across});
      consider(std::max(down, least_down), across);
    }
  }
  return best;
}

}  // namespace kiln::cpu::simd
