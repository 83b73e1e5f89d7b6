// Blocks on vectors, from operands in the order of tiles. The instruction takes a row of a right tile, pairs of 16
// columns, and broadcasts one pair of a left tile. It is compiled for processors with AVX512-BF16 only
// (CMakeLists.txt), so like pack.cpp it includes nothing of the standard library.
#include "kiln/backend/cpu/amx/block.hpp"
#include "kiln/backend/cpu/amx/registers.hpp"

namespace kiln::cpu::amx {
namespace {

using std::int64_t;
using std::uint16_t;

/// The rows whose sums are computed at once: half a tile's. In two adjacent tiles these are 16 sums, more than enough
/// to hide the instruction's latency of six cycles.
constexpr int64_t kRows = 8;

inline __m512bh row_at(const uint16_t* numbers) { return numbers_in(_mm512_loadu_si512(numbers)); }
inline __m512bh pair_at(const uint16_t* numbers) {
  int bits;
  __builtin_memcpy(&bits, numbers, sizeof bits);
  return numbers_in(_mm512_set1_epi32(bits));
}

constexpr int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/// The operands of some rows of a block.
struct Strip {
  const uint16_t *left, *right;
  int64_t left_step, depth;  // the distance of left tiles along the sums; terms
  bool add;
  float* sums;
  TileOffsets at;
  uint16_t* to;  // destination of rounded sums, or null
  int64_t step;
  __mmask32 columns;
  const uint16_t* ahead;
  int64_t lines_ahead;  // lines to prefetch with each left tile
};

template <int Rows, int Columns>
inline void store_rounded(const Strip& strip, const __m512 (&sums)[Rows][Columns]) {
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
    const __m512bh row = _mm512_cvtne2ps_pbh(sums[i][Columns - 1], sums[i][0]);
    _mm512_mask_storeu_epi16(strip.to + i * strip.step, strip.columns, bits_of(row));
  }
}

template <int Rows, int Columns>
void make_strip(const Strip& call) {
  const Strip strip = call;  // a local copy, which no store can change
  __m512 sums[Rows][Columns];
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < Columns; ++j)
      sums[i][j] =
          strip.add ? _mm512_loadu_ps(strip.sums + i * strip.at.row + j * strip.at.right) : _mm512_setzero_ps();
  if (strip.to && strip.depth > kPairs)  // shorter sums are complete before a line arrives
    for (int i = 0; i < Rows; ++i) {
      _mm_prefetch(strip.to + i * strip.step, _MM_HINT_T0);
      _mm_prefetch(strip.to + i * strip.step + kBlock - 1, _MM_HINT_T0);
    }
  const uint16_t *left = strip.left, *right = strip.right, *ahead = strip.ahead;
  for (int64_t rest = strip.depth; rest > 0; rest -= kPairs) {
    for (int64_t lines = strip.lines_ahead; lines > 0; --lines, ahead += kPairs) _mm_prefetch(ahead, _MM_HINT_T1);
    const uint16_t* const end = left + least(rest, kPairs);
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
  if (strip.to) return store_rounded(strip, sums);
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
                         bool add, float* sums, TileOffsets at, Rounded rounded, Ahead ahead) {
  const MakeStrip* const strips = columns > kTile ? kStrips<2> : kStrips<1>;
  const int64_t tiles = (depth + kPairs - 1) / kPairs;  // consecutive tiles
  const int64_t fetches = least((rows + kRows - 1) / kRows, kBlock / kRows) * tiles;
  Strip strip{.left = left,
              .right = right,
              .left_step = rows > kTile ? 2 * kTileNumbers : kTileNumbers,
              .depth = depth,
              .add = add,
              .sums = sums,
              .at = at,
              .to = rounded.to,
              .step = rounded.step,
              .columns = first(columns),
              .ahead = ahead.numbers,
              .lines_ahead = (ahead.count + fetches * kPairs - 1) / (fetches * kPairs)};
  for (int64_t begin = 0; begin < least(rows, kBlock); begin += kTile) {
    const int64_t count = least(rows - begin, kTile), some = count > kRows ? (count + 1) / 2 : count;
    for (int64_t i = 0; i < count; i += some) {
      strip.left = left + (begin + i) * kPairs;
      strip.sums = sums + begin / kTile * at.lower + i * at.row;
      if (rounded.to) strip.to = rounded.to + (begin + i) * rounded.step;
      strips[least(count - i, some) - 1](strip);
      strip.ahead += strip.lines_ahead * tiles * kPairs;
    }
  }
}

}  // namespace kiln::cpu::amx
