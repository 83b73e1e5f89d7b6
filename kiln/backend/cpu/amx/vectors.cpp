// Blocks on vectors, from operands in the order of tiles. A row of a right tile is what the instruction takes, pairs of 16
// columns, and of a left tile it takes one pair for all of them. Compiled for processors with AVX512-BF16 alone
// (CMakeLists.txt), so as pack.cpp it includes nothing of the standard library.
#include <immintrin.h>

#include "kiln/backend/cpu/amx/block.hpp"

namespace kiln::cpu::amx {
namespace {

using std::int64_t;
using std::uint16_t;

/// The rows of a tile whose sums are made at once: with two columns of tiles as many chains of sums as keep the
/// instruction busy, and half the registers.
constexpr int64_t kRows = 8;

inline __m512bh pairs_in(__m512i bits) {
  __m512bh pairs;
  static_assert(sizeof pairs == sizeof bits);
  __builtin_memcpy(&pairs, &bits, sizeof pairs);
  return pairs;
}
inline __m512bh row_at(const uint16_t* numbers) { return pairs_in(_mm512_load_si512(numbers)); }
inline __m512bh pair_at(const uint16_t* numbers) {
  int bits;
  __builtin_memcpy(&bits, numbers, sizeof bits);
  return pairs_in(_mm512_set1_epi32(bits));
}

/// Where some rows of a block find what they need.
struct Strip {
  const uint16_t *left, *right;
  int64_t left_step, depth;  // from one of the left tiles to the next along the sums; terms
  bool add;
  float* sums;
  Places at;
};

template <int Rows, int Columns>
void make_strip(const Strip& strip) {
  __m512 sums[Rows][Columns];
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < Columns; ++j)
      sums[i][j] =
          strip.add ? _mm512_loadu_ps(strip.sums + i * strip.at.row + j * strip.at.right) : _mm512_setzero_ps();
  const uint16_t *left = strip.left, *right = strip.right;
  for (int64_t rest = strip.depth; rest > 0; rest -= kPairs) {
    const uint16_t* const end = left + (rest < kPairs ? rest : kPairs);
    for (const uint16_t *pair = left, *row = right; pair < end; pair += 2, row += kPairs) {
      __m512bh columns[Columns];
#pragma GCC unroll 2
      for (int j = 0; j < Columns; ++j) columns[j] = row_at(row + j * kTileNumbers);
#pragma GCC unroll 8
      for (int i = 0; i < Rows; ++i) {
        const __m512bh of_row = pair_at(pair + i * kPairs);
#pragma GCC unroll 2
        for (int j = 0; j < Columns; ++j) sums[i][j] = _mm512_dpbf16_ps(sums[i][j], of_row, columns[j]);
      }
    }
    left += strip.left_step;
    right += Columns * kTileNumbers;
  }
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < Columns; ++j) _mm512_storeu_ps(strip.sums + i * strip.at.row + j * strip.at.right, sums[i][j]);
}

using MakeStrip = void (*)(const Strip&);
template <int Columns>
constexpr MakeStrip kStrips[kRows] = {make_strip<1, Columns>, make_strip<2, Columns>, make_strip<3, Columns>,
                                      make_strip<4, Columns>, make_strip<5, Columns>, make_strip<6, Columns>,
                                      make_strip<7, Columns>, make_strip<8, Columns>};

}  // namespace

void multiply_on_vectors(const uint16_t* left, const uint16_t* right, int64_t rows, int64_t columns, int64_t depth,
                         bool add, float* sums, Places at) {
  const MakeStrip* const strips = columns > kTile ? kStrips<2> : kStrips<1>;
  const int64_t left_step = rows > kTile ? 2 * kTileNumbers : kTileNumbers;
  for (int64_t first = 0; first < rows && first < kBlock; first += kTile) {
    const int64_t count = rows - first < kTile ? rows - first : kTile, some = count > kRows ? (count + 1) / 2 : count;
    for (int64_t i = 0; i < count; i += some) {
      const int64_t tile = first / kTile;
      strips[(count - i < some ? count - i : some) - 1]({left + tile * kTileNumbers + i * kPairs, right, left_step,
                                                         depth, add, sums + tile * at.lower + i * at.row, at});
    }
  }
}

}  // namespace kiln::cpu::amx
