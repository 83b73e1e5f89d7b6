// Compiled for processors with AMX alone (CMakeLists.txt). It must contain no function that another file might define
// too, or programs could end up with this one on processors that lack it: nothing of the standard library is included.
#include "kiln/backend/cpu/amx/tiles.hpp"

#include <immintrin.h>

namespace kiln::cpu::amx {
namespace {

using std::int64_t;
using std::uint16_t;

constexpr int64_t kTileNumbers = kTile * kPairs;

/// Eight tiles of 16 rows of 64 bytes. Static, since g++ does not see that the instruction reads all of it.
struct alignas(64) Layout {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t bytes_of_a_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr Layout kLayout;

__mmask32 first(int64_t count) { return count >= 32 ? ~__mmask32{0} : (__mmask32{1} << count) - 1; }

/// Rows and columns of a tile of pairs change places.
inline void transpose(__m512i (&r)[16]) {
  __m512i t[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {  // now r[4q + i] has, in its 128 bits number p, column 4p + i of rows 4q to 4q + 3
    const __m512i low = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x44), high = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xee);
    const __m512i low2 = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x44),
                  high2 = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xee);
    t[i] = _mm512_shuffle_i32x4(low, low2, 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(low, low2, 0xdd);
    t[i + 8] = _mm512_shuffle_i32x4(high, high2, 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(high, high2, 0xdd);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) r[i] = t[i];
}

/// Up to 16 lines of up to 32 numbers, which lie side by side: vector i is line i.
inline void load_along(const uint16_t* data, int64_t line, int64_t count, int64_t depth, __m512i (&r)[16]) {
  if (count >= kTile && depth >= kPairs) {
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) r[i] = _mm512_loadu_si512(data + i * line);
    return;
  }
  const __mmask32 some = first(depth);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i)
    r[i] = i < count ? _mm512_maskz_loadu_epi16(some, data + i * line) : _mm512_setzero_si512();
}

/// The same of lines that lie side by side: vector i has numbers 2i and 2i + 1 of every line.
inline void load_across(const uint16_t* data, int64_t along, int64_t count, int64_t depth, __m512i (&r)[16]) {
  const auto some = static_cast<__mmask16>(first(count));
  const auto row = [&](int64_t j) {
    return _mm512_cvtepu16_epi32(j < depth ? _mm256_maskz_loadu_epi16(some, data + j * along) : _mm256_setzero_si256());
  };
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) r[i] = _mm512_or_si512(row(2 * i), _mm512_slli_epi32(row(2 * i + 1), 16));
}

template <bool Left>
void pack(const Lines& lines, int64_t count, int64_t depth, uint16_t* packed) {
  for (int64_t j = 0; j < depth; j += kPairs)
    for (int64_t i = 0; i < count; i += kTile, packed += kTileNumbers) {
      const uint16_t* data = lines.data + i * lines.line + j * lines.along;
      __m512i r[16];
      if (lines.along == 1) load_along(data, lines.line, count - i, depth - j, r);
      else load_across(data, lines.along, count - i, depth - j, r);
      if (Left != (lines.along == 1)) transpose(r);
#pragma GCC unroll 16
      for (int k = 0; k < 16; ++k) _mm512_store_si512(packed + k * kPairs, r[k]);
    }
}

// Tiles 0 to 3 are sums, 4 and 5 left operands, 6 and 7 right ones.
template <int Rows, int Columns>
void multiply_tiles(const uint16_t* left, const uint16_t* right, int64_t depth, bool add, float* sums) {
  constexpr int64_t kSumsOfTile = kTile * kTile, kRow = 64;  // bytes
  asm volatile("" ::: "memory");                             // g++ does not see that the loads below read memory
  if (add) {
    _tile_loadd(0, sums, kRow);
    if constexpr (Columns > 1) _tile_loadd(1, sums + kSumsOfTile, kRow);
    if constexpr (Rows > 1) _tile_loadd(2, sums + 2 * kSumsOfTile, kRow);
    if constexpr (Rows > 1 && Columns > 1) _tile_loadd(3, sums + 3 * kSumsOfTile, kRow);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int64_t j = 0; j < depth; j += kPairs, left += Rows * kTileNumbers, right += Columns * kTileNumbers) {
    _tile_loadd(4, left, kRow);
    _tile_loadd(6, right, kRow);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (Columns > 1) {
      _tile_loadd(7, right + kTileNumbers, kRow);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (Rows > 1) {
      _tile_loadd(5, left + kTileNumbers, kRow);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (Columns > 1) _tile_dpbf16ps(3, 5, 7);
    }
  }
  _tile_stored(0, sums, kRow);
  if constexpr (Columns > 1) _tile_stored(1, sums + kSumsOfTile, kRow);
  if constexpr (Rows > 1) _tile_stored(2, sums + 2 * kSumsOfTile, kRow);
  if constexpr (Rows > 1 && Columns > 1) _tile_stored(3, sums + 3 * kSumsOfTile, kRow);
}

}  // namespace

void pack_left(const Lines& rows, int64_t count, int64_t depth, uint16_t* packed) {
  pack<true>(rows, count, depth, packed);
}
void pack_right(const Lines& columns, int64_t count, int64_t depth, uint16_t* packed) {
  pack<false>(columns, count, depth, packed);
}

Tiles::Tiles() { _tile_loadconfig(&kLayout); }
Tiles::~Tiles() { _tile_release(); }

void multiply(const uint16_t* left, const uint16_t* right, int64_t rows, int64_t columns, int64_t depth, bool add,
              float* sums) {
  if (rows > kTile && columns > kTile) multiply_tiles<2, 2>(left, right, depth, add, sums);
  else if (rows > kTile) multiply_tiles<2, 1>(left, right, depth, add, sums);
  else if (columns > kTile) multiply_tiles<1, 2>(left, right, depth, add, sums);
  else multiply_tiles<1, 1>(left, right, depth, add, sums);
}

void store(const float* sums, int64_t rows, int64_t columns, uint16_t* to, int64_t step) {
  const __mmask32 some = first(columns);
  const float* right = columns > kTile ? sums + kTile * kTile : sums;  // of a narrow block there is no right half
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t at = (i / kTile * 2 * kTile + i % kTile) * kTile;
    const __m512bh row = _mm512_cvtne2ps_pbh(_mm512_load_ps(right + at), _mm512_load_ps(sums + at));
    __m512i bits;
    static_assert(sizeof bits == sizeof row);
    __builtin_memcpy(&bits, &row, sizeof bits);
    _mm512_mask_storeu_epi16(to + i * step, some, bits);
  }
}

}  // namespace kiln::cpu::amx
