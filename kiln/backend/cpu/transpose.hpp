// Transposes planes of words: neighbours in one order are far apart in the other. It goes in squares of sixteen bytes a
// side, which are transposed in registers, and in tiles of squares, so that each cache line is read and written while
// it is in the cache.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kiln/backend/cpu/streaming.hpp"

namespace kiln::cpu {

template <class Word>
struct Transposer {
  static constexpr int kSide = 16 / sizeof(Word);           // words of a square
  static constexpr std::int64_t kLine = 64 / sizeof(Word);  // words
  /// The number of columns that a thread should take at a time, and that number where the result is streamed.
  static constexpr std::int64_t kStrip = std::max<std::int64_t>(16, kLine), kStreamedStrip = 8 * kLine;

  /// to[column * to_step + row] = from[row * from_step + column]
  static void run(const Word* from, std::int64_t from_step, Word* to, std::int64_t to_step, std::int64_t rows,
                  std::int64_t columns) {
    if (transpose_few(from, from_step, to, to_step, rows, columns)) return;
    for (std::int64_t row = 0, count; row < rows; row += count) {
      count = part(rows - row, kStrip);
      transpose_squares(from + row * from_step, from_step, to + row, to_step, count, columns);
    }
  }
  /// Returns how many of `rest` to take where about `most` are wanted: all, if less than a square would be left.
  static constexpr std::int64_t part(std::int64_t rest, std::int64_t most) { return rest < most + kSide ? rest : most; }
  /// Transposes at most kStreamedStrip columns, each of which begins a line of `to`. Writes past the caches, so that
  /// results that do not fit into them are not read first.
  static void stream(const Word* from, std::int64_t from_step, Word* to, std::int64_t to_step, std::int64_t rows,
                     std::int64_t columns) {
    constexpr std::int64_t height = 2 * kLine;
    constexpr std::int64_t step = height + kLine;  // so that columns do not fall on the same lines of the cache
    alignas(64) Word tile[kStreamedStrip * step];
    std::int64_t row = 0;
    for (; row + height <= rows; row += height) {
      transpose_squares(from + row * from_step, from_step, tile, step, height, columns);
      for (std::int64_t column = 0; column < columns; ++column)
        for (std::int64_t i = 0; i < height; i += kSide)
          stream_vector(tile + column * step + i, to + column * to_step + row + i);
    }
    transpose_squares(from + row * from_step, from_step, to + row, to_step, rows - row, columns);
    finish_streaming();
  }

 private:
  typedef Word Vector __attribute__((vector_size(16)));  // any processor has these, and compilers shuffle them

  /// Takes the words of a from kFirst on and those of b from kSecond on alternately.
  template <int kFirst, int kSecond, int... I>
  static Vector interleave(Vector a, Vector b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b, (I / 2 + (I % 2 ? kSide + kSecond : kFirst))...);
  }
  /// Takes the words of the vectors as one row and interleaves its halves, again and again, until word i is at place
  /// kTimes * i, modulo the place of the last word.
  template <int kTimes, int kCount>
  static void interleave_halves(Vector (&words)[kCount]) {
    constexpr auto places = std::make_integer_sequence<int, kSide>();
    constexpr int kHalf = kSide / 2, kOther = kCount % 2 * kHalf;
#pragma GCC unroll 4
    for (int times = 1; times < kTimes; times *= 2) {
      Vector next[kCount];
#pragma GCC unroll 16
      for (int i = 0; i < kCount; ++i)
        next[i] = i % 2 ? interleave<kHalf, kHalf - kOther>(words[i / 2], words[(i + kCount) / 2], places)
                        : interleave<0, kOther>(words[i / 2], words[(i + kCount) / 2], places);
#pragma GCC unroll 16
      for (int i = 0; i < kCount; ++i) words[i] = next[i];
    }
  }
  /// Transposes kSide rows of kCount words; `vector_step` is the distance between the vectors as which they are read.
  template <int kCount>
  static void split(const Word* from, std::int64_t vector_step, Word* to, std::int64_t to_step) {
    Vector words[kCount];
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) std::memcpy(&words[i], from + i * vector_step, sizeof(Vector));
    interleave_halves<kSide>(words);
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) std::memcpy(to + i * to_step, &words[i], sizeof(Vector));
  }
  /// Transposes kSide columns of kFew words into rows without gaps. Three columns are treated as four, whose last word
  /// the next row overwrites: one word more is written than there are.
  template <int kFew>
  static void join(const Word* from, std::int64_t from_step, Word* to) {
    constexpr int kCount = kFew == 3 ? 4 : kFew;
    Vector words[kCount];
#pragma GCC unroll 4
    for (int i = 0; i < kCount; ++i) std::memcpy(&words[i], from + std::min(i, kFew - 1) * from_step, sizeof(Vector));
    interleave_halves<kCount>(words);
    if constexpr (kCount == kFew) {
      std::memcpy(to, words, sizeof(words));
    } else {
      Word rows[kSide][kCount];
      std::memcpy(rows, words, sizeof(words));
#pragma GCC unroll 16
      for (int i = 0; i < kSide; ++i) std::memcpy(to + i * kFew, rows[i], sizeof(rows[i]));
    }
  }

  template <int kFew>
  static void transpose_few_rows(const Word* __restrict from, std::int64_t from_step, Word* __restrict to,
                                 std::int64_t to_step, std::int64_t columns) {
    std::int64_t column = 0;
    if (kSide > 2 && to_step == kFew)
      for (; column + kSide < columns; column += kSide) join<kFew>(from + column, from_step, to + column * kFew);
    for (; column < columns; ++column)
      for (int row = 0; row < kFew; ++row) to[column * to_step + row] = from[row * from_step + column];
  }
  /// Transposes column by column, in pieces that the nearest cache keeps until the last column: columns that are whole
  /// pages apart would evict each other if written together. Two words at a time are as fast as any, for all sizes.
  template <int kFew>
  static void transpose_few_columns(const Word* from, std::int64_t from_step, Word* to, std::int64_t to_step,
                                    std::int64_t rows) {
    if (kSide > 2 && from_step == kFew)
      for (; rows >= kSide; rows -= kSide, from += kSide * kFew, to += kSide) split<kFew>(from, kSide, to, to_step);
    constexpr std::int64_t kNear = 2048 / sizeof(Word);
    for (std::int64_t first = 0; first < rows; first += kNear) {
      const std::int64_t count = std::min(kNear, rows - first);
      for (int column = 0; column < kFew; ++column) {
        const Word* __restrict source = from + first * from_step + column;
        Word* __restrict target = to + column * to_step + first;
        std::int64_t row = 0;
        for (; row + 2 <= count; row += 2, source += 2 * from_step) {
          target[row] = source[0];
          target[row + 1] = source[from_step];
        }
        if (row < count) target[row] = *source;
      }
    }
  }
  /// Transposes few rows or columns, such as images' channels: no square fits, but the compiler knows their number.
  static bool transpose_few(const Word* from, std::int64_t from_step, Word* to, std::int64_t to_step, std::int64_t rows,
                            std::int64_t columns) {
    if (rows == 2) transpose_few_rows<2>(from, from_step, to, to_step, columns);
    else if (rows == 3) transpose_few_rows<3>(from, from_step, to, to_step, columns);
    else if (kSide > 4 && rows == 4) transpose_few_rows<4>(from, from_step, to, to_step, columns);
    else if (columns == 2) transpose_few_columns<2>(from, from_step, to, to_step, rows);
    else if (columns == 3) transpose_few_columns<3>(from, from_step, to, to_step, rows);
    else if (kSide > 4 && columns == 4) transpose_few_columns<4>(from, from_step, to, to_step, rows);
    else return false;
    return true;
  }

  static void transpose_squares(const Word* from, std::int64_t from_step, Word* to, std::int64_t to_step,
                                std::int64_t rows, std::int64_t columns) {
    if (rows < kSide || columns < kSide) {
      for (std::int64_t column = 0; column < columns; ++column)
        for (std::int64_t row = 0; row < rows; ++row) to[column * to_step + row] = from[row * from_step + column];
      return;
    }
    // The last squares overlap those before them.
    for (std::int64_t next_column = 0; next_column < columns; next_column += kSide) {
      const std::int64_t column = std::min(next_column, columns - kSide);
      for (std::int64_t next_row = 0; next_row < rows; next_row += kSide) {
        const std::int64_t row = std::min(next_row, rows - kSide);
        split<kSide>(from + row * from_step + column, from_step, to + column * to_step + row, to_step);
      }
    }
  }
};

}  // namespace kiln::cpu
