// Packs operands in the order of tiles, and transforms sums. It is compiled for processors with AVX512-BF16 only
// (CMakeLists.txt). It must not contain a function that another file might define too, or programs could use this one
// on processors without these instructions; therefore it includes nothing of the standard library.
#include "kiln/backend/cpu/amx/block.hpp"
#include "kiln/backend/cpu/amx/registers.hpp"

namespace kiln::cpu::amx {
namespace {

using std::int64_t;
using std::uint16_t;

/// Loads 8 numbers at `data` and at three further places.
inline __m512i load_four(const uint16_t* data, int64_t step) {
  const auto at = [&](int64_t i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(data + i * step)); };
  const __m512i two = _mm512_inserti32x4(_mm512_castsi128_si512(at(0)), at(1), 1);
  return _mm512_inserti32x4(_mm512_inserti32x4(two, at(2), 2), at(3), 3);
}

/// Transposes 16 lines of 16 pairs: line i of the result has pair i of each.
inline void transpose(const uint16_t* data, int64_t line, uint16_t* to) {
#pragma GCC unroll 4
  for (int q = 0; q < 4; ++q) {  // pairs 4q to 4q + 3; number p of the 128 bits has those of lines 4p to 4p + 3
    const uint16_t* const from = data + 8 * q;
    const __m512i line0 = load_four(from, 4 * line), line1 = load_four(from + line, 4 * line),
                  line2 = load_four(from + 2 * line, 4 * line), line3 = load_four(from + 3 * line, 4 * line);
    const __m512i low01 = _mm512_unpacklo_epi32(line0, line1), high01 = _mm512_unpackhi_epi32(line0, line1);
    const __m512i low23 = _mm512_unpacklo_epi32(line2, line3), high23 = _mm512_unpackhi_epi32(line2, line3);
    uint16_t* const result = to + 4 * q * kPairs;
    _mm512_store_si512(result, _mm512_unpacklo_epi64(low01, low23));
    _mm512_store_si512(result + kPairs, _mm512_unpackhi_epi64(low01, low23));
    _mm512_store_si512(result + 2 * kPairs, _mm512_unpacklo_epi64(high01, high23));
    _mm512_store_si512(result + 3 * kPairs, _mm512_unpackhi_epi64(high01, high23));
  }
}

/// Packs up to 16 lines of up to 32 numbers, which are contiguous from at(i) on: a tile with a line in each row.
template <class At>
inline void copy(At at, int64_t count, int64_t depth, uint16_t* to) {
  const __mmask32 some = first(depth);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i)
    _mm512_store_si512(to + i * kPairs, i < count ? _mm512_maskz_loadu_epi16(some, at(i)) : _mm512_setzero_si512());
}

/// Packs lines that lie side by side: row i of the tile has numbers 2i and 2i + 1 of every line. Number j of all lines
/// begins at at(j).
template <class At>
inline void interleave(At at, int64_t count, int64_t depth, uint16_t* to) {
  const auto some = static_cast<__mmask16>(first(count));
  const auto row = [&](int64_t j) {
    return _mm512_cvtepu16_epi32(j < depth ? _mm256_maskz_loadu_epi16(some, at(j)) : _mm256_setzero_si256());
  };
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i)
    _mm512_store_si512(to + i * kPairs, _mm512_or_si512(row(2 * i), _mm512_slli_epi32(row(2 * i + 1), 16)));
}

/// Packs the two tiles of 32 whole lines at once.
template <class At>
inline void interleave_block(At at, uint16_t* to) {
  // The lower halves of each 128 bits are the first 16 lines.
  const __m512i order = _mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0);
  const auto row = [&](int64_t j) { return _mm512_permutexvar_epi64(order, _mm512_loadu_si512(at(j))); };
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    const __m512i even = row(2 * i), odd = row(2 * i + 1);
    _mm512_store_si512(to + i * kPairs, _mm512_unpacklo_epi16(even, odd));
    _mm512_store_si512(to + kTileNumbers + i * kPairs, _mm512_unpackhi_epi16(even, odd));
  }
}

/// Packs one row after the other, which is the fastest way to read memory. Rows are too short for the processor to
/// predict the next one.
void copy_rows(const TileLines& rows, int64_t count, int64_t depth, uint16_t* packed) {
  constexpr int64_t kNumbersAhead = 768;  // bench: suite matmul_*_bf16
  const int64_t ahead = (kNumbersAhead / depth + 1) * rows.line, lines = count > kTile ? kBlock : kTile;
  for (int64_t i = 0; i < lines; ++i)
    for (int64_t j = 0; j < depth; j += kPairs) {
      __m512i numbers = _mm512_setzero_si512();
      if (i < count) {
        const uint16_t* const from = rows.data + i * rows.line + j;
        _mm_prefetch(from + ahead, _MM_HINT_T0);
        numbers = _mm512_maskz_loadu_epi16(first(depth - j), from);
      }
      _mm512_store_si512(packed + j * lines + i * kPairs, numbers);
    }
}

template <bool Left>
void pack(const TileLines& lines, int64_t count, int64_t depth, uint16_t* packed) {
  const bool side_by_side = lines.along == 1;
  if (side_by_side && Left) return copy_rows(lines, count, depth, packed);
  alignas(64) uint16_t aside[2 * kTileNumbers];
  for (int64_t j = 0; j < depth; j += kPairs)
    for (int64_t i = 0; i < count; i += kTile, packed += kTileNumbers) {
      const uint16_t* const data = lines.data + i * lines.line + j * lines.along;
      const auto line = [&](int64_t row) { return data + row * lines.line; };
      const auto at = [&](int64_t number) { return data + number * lines.along; };
      const int64_t width = count - i, left = depth - j;
      const bool block = width >= kBlock && left >= kPairs, full = width >= kTile && left >= kPairs;
      if (side_by_side && full) {
        transpose(data, lines.line, packed);
      } else if (side_by_side) {
        copy(line, width, left, aside);
        transpose(aside, kPairs, packed);
      } else if (block) {
        uint16_t* const tiles = Left ? aside : packed;
        interleave_block(at, tiles);
        if (Left) {
          transpose(aside, kPairs, packed);
          transpose(aside + kTileNumbers, kPairs, packed + kTileNumbers);
        }
        i += kTile, packed += kTileNumbers;
      } else {
        interleave(at, width, left, Left ? aside : packed);
        if (Left) transpose(aside, kPairs, packed);
      }
    }
}

/// Rounds 16 pairs of numbers of two rows.
inline __m512i pairs_of(__m512 even, __m512 odd) {
  const __m512i halves = bits_of(_mm512_cvtne2ps_pbh(odd, even));
  const __m512i low = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(halves)),
                high = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(halves, 1));
  return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
}

template <class At>
inline void store_rows(const float* sums, int64_t rows, int64_t columns, At at) {
  const __mmask32 some = first(columns);
  const float* right = columns > kTile ? sums + kTile * kTile : sums;  // a narrow block has no right half
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t from = (i / kTile * 2 * kTile + i % kTile) * kTile;
    const __m512bh row = _mm512_cvtne2ps_pbh(_mm512_load_ps(right + from), _mm512_load_ps(sums + from));
    _mm512_mask_storeu_epi16(at(i), some, bits_of(row));
  }
}

}  // namespace

void pack_left(const TileLines& rows, int64_t count, int64_t depth, uint16_t* packed) {
  pack<true>(rows, count, depth, packed);
}
void pack_right(const TileLines& columns, int64_t count, int64_t depth, uint16_t* packed) {
  pack<false>(columns, count, depth, packed);
}

void gather_left(const uint16_t* const* rows, int64_t first, int64_t count, int64_t depth, uint16_t* packed) {
  for (int64_t j = 0; j < depth; j += kPairs)
    for (int64_t i = 0; i < count; i += kTile, packed += kTileNumbers)
      copy([&](int64_t row) { return rows[i + row] + first + j; }, count - i, depth - j, packed);
}
void gather_right(const uint16_t* const* numbers, int64_t first, int64_t count, int64_t depth, uint16_t* packed) {
  for (int64_t j = 0; j < depth; j += kPairs) {
    const bool block = count >= kBlock && depth - j >= kPairs;
    if (block) interleave_block([&](int64_t number) { return numbers[j + number] + first; }, packed);
    for (int64_t i = 0; i < count; i += kTile, packed += kTileNumbers)
      if (!block)
        interleave([&](int64_t number) { return numbers[j + number] + first + i; }, count - i, depth - j, packed);
  }
}

Turn::Turn(int64_t places) : places_(places), over_{}, back_{} {
  for (int64_t v = 0; v < places; ++v)
    for (int64_t l = 0; l < kBlock; ++l) {
      const int64_t lies = l * places + v,
                    goes = v * kBlock + l;  // the index, in lines, of number v of line l and of number l of v
      over_.at[v][l] = static_cast<uint16_t>(lies % kBlock);
      over_.of[v][lies / kBlock] |= std::uint32_t{1} << l;
      back_.at[v][l] = static_cast<uint16_t>(goes / places);
      back_.of[v][goes % places] |= std::uint32_t{1} << l;
    }
}
template <int64_t kPlaces>
void Turn::move_all(const Moves& moves, const uint16_t* from, int64_t from_step, uint16_t* to, int64_t to_step) {
  __m512i sources[kPlaces];
#pragma GCC unroll 16
  for (int64_t s = 0; s < kPlaces; ++s) sources[s] = _mm512_loadu_si512(from + s * from_step);
  for (int64_t v = 0; v < kPlaces; ++v) {
    const __m512i at = _mm512_load_si512(moves.at[v]);
    __m512i numbers = _mm512_setzero_si512();
#pragma GCC unroll 16
    for (int64_t s = 0; s < kPlaces; ++s)
      numbers = _mm512_mask_permutexvar_epi16(numbers, moves.of[v][s], at, sources[s]);
    _mm512_storeu_si512(to + v * to_step, numbers);
  }
}
void Turn::move(int64_t places, const Moves& moves, const uint16_t* from, int64_t from_step, uint16_t* to,
                int64_t to_step) {
  if (places == 9) return move_all<9>(moves, from, from_step, to, to_step);
  for (int64_t v = 0; v < places; ++v) {
    const __m512i at = _mm512_load_si512(moves.at[v]);
    __m512i numbers = _mm512_setzero_si512();
    for (int64_t s = 0; s < places; ++s)
      numbers = _mm512_mask_permutexvar_epi16(numbers, moves.of[v][s], at, _mm512_loadu_si512(from + s * from_step));
    _mm512_storeu_si512(to + v * to_step, numbers);
  }
}
void Turn::over(const uint16_t* lines, uint16_t* to, int64_t step) const {
  move(places_, over_, lines, kBlock, to, step);
}
void Turn::back(const uint16_t* from, int64_t step, uint16_t* lines) const {
  move(places_, back_, from, step, lines, kBlock);
}

void round_right(const float* rows, int64_t step, int64_t count, int64_t depth, uint16_t* packed) {
  const auto row = [&](int64_t i, int64_t column) {
    return i < depth ? _mm512_loadu_ps(rows + i * step + column) : _mm512_setzero_ps();
  };
  for (int64_t j = 0; j < depth; j += kPairs)
    for (int64_t column = 0; column < count; column += kTile, packed += kTileNumbers)
      for (int64_t i = 0; i < kTile; ++i)
        _mm512_store_si512(packed + i * kPairs, pairs_of(row(j + 2 * i, column), row(j + 2 * i + 1, column)));
}
void scale(float* x, int64_t step, int64_t rows, int64_t columns, float factor) {
  const __m512 factors = _mm512_set1_ps(factor);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; j += kTile)
      _mm512_storeu_ps(x + i * step + j, _mm512_mul_ps(_mm512_loadu_ps(x + i * step + j), factors));
}
void scale_columns(float* x, int64_t step, int64_t rows, int64_t columns, const float* factors) {
  for (int64_t j = 0; j < columns; j += kTile) {
    const __m512 factor = _mm512_loadu_ps(factors + j);
    for (int64_t i = 0; i < rows; ++i)
      _mm512_storeu_ps(x + i * step + j, _mm512_mul_ps(_mm512_loadu_ps(x + i * step + j), factor));
  }
}
void store_transposed(const float* x, int64_t step, int64_t rows, int64_t columns, const float* factors, uint16_t* to,
                      int64_t to_step) {
  alignas(64) uint16_t pairs[kTileNumbers], lines[kTileNumbers];
  for (int64_t j = 0; j < columns; j += kTile) {
    const __m512 factor = _mm512_loadu_ps(factors + j);
    for (int64_t i = 0; i < rows; i += kPairs) {
      const auto row = [&](int64_t at) {
        return at < rows ? _mm512_mul_ps(_mm512_loadu_ps(x + at * step + j), factor) : _mm512_setzero_ps();
      };
      for (int64_t l = 0; l < kTile; ++l)
        _mm512_store_si512(pairs + l * kPairs, pairs_of(row(i + 2 * l), row(i + 2 * l + 1)));
      transpose(pairs, kPairs, lines);
      for (int64_t l = 0; l < kTile && j + l < columns; ++l)
        _mm512_mask_storeu_epi16(to + (j + l) * to_step + i, first(rows - i), _mm512_load_si512(lines + l * kPairs));
    }
  }
}

void store(const float* sums, int64_t rows, int64_t columns, uint16_t* to, int64_t step) {
  store_rows(sums, rows, columns, [&](int64_t i) { return to + i * step; });
}
void scatter(const float* sums, int64_t rows, int64_t columns, uint16_t* const* to, int64_t first) {
  store_rows(sums, rows, columns, [&](int64_t i) { return to[i] + first; });
}

}  // namespace kiln::cpu::amx
