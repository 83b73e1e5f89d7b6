#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "kiln/backend/cpu/copy_bytes.hpp"
#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/backend/cpu/rows.hpp"
#include "kiln/backend/cpu/transpose.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu {
namespace {

// The number of elements that is worth another thread.
template <class Word>
constexpr std::int64_t kGrain = kMinBytesPerThread / sizeof(Word);
constexpr std::int64_t kShortRow = 8;              // elements that take less time than finding the row
constexpr std::int64_t kStreamedBytes = 16 << 20;  // results of this size leave the caches anyway

/// Fills with one word: the first few words one by one, the rest by copies of those that are filled.
template <class Word>
void fill(Word* to, std::int64_t count, Word word) {
  const auto bytes = std::bit_cast<std::array<unsigned char, sizeof(Word)>>(word);
  if (std::ranges::all_of(bytes, [&](unsigned char byte) { return byte == bytes[0]; })) {
    std::memset(to, bytes[0], static_cast<std::size_t>(count) * sizeof(Word));
    return;
  }
  // For longer pieces memcpy uses an instruction that takes longer than a loop.
  constexpr std::int64_t kFew = 64 / sizeof(Word), kNear = 512 / sizeof(Word);
  std::int64_t done = std::min(count, kFew);
  std::fill_n(to, done, word);
  while (done < count) {
    const std::int64_t some = std::min({done, kNear, count - done});
    std::memcpy(to + done, to, static_cast<std::size_t>(some) * sizeof(Word));
    done += some;
  }
}

/// to[i] = from[-i]
template <class Word>
void copy_backwards(const Word* __restrict from, Word* __restrict to, std::int64_t count) {
  constexpr int kSome = 16 / sizeof(Word);
  typedef Word Vector __attribute__((vector_size(16)));
  const auto reversed = []<int... I>(Vector x, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(x, x, (kSome - 1 - I)...);
  };
  std::int64_t i = 0;
  for (; i + kSome <= count; i += kSome) {
    Vector words;
    std::memcpy(&words, from - i - (kSome - 1), sizeof(words));
    words = reversed(words, std::make_integer_sequence<int, kSome>());
    std::memcpy(to + i, &words, sizeof(words));
  }
  for (; i < count; ++i) to[i] = from[-i];
}

template <class Word>
void copy_row(const Word* from, std::int64_t from_step, Word* to, std::int64_t to_step, std::int64_t count) {
  if (to_step == -1) return copy_row(from + (count - 1) * from_step, -from_step, to - (count - 1), 1, count);
  if (to_step == 1 && from_step == -1) copy_backwards(from, to, count);
  else if (to_step == 1 && from_step == 1) copy_bytes(to, from, static_cast<std::size_t>(count) * sizeof(Word));
  else if (to_step == 1 && from_step == 0) fill(to, count, *from);
  else
    for (std::int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
}

/// Copies rows so short that finding each takes longer than copying it. The rows along the next dimension are copied
/// together: element 0 of all of them, then element 1, and so on.
template <class Word>
void copy_short_rows(const Array& from, const Array& to, const Rows<2>& rows) {
  constexpr std::int64_t kNear = 4096;  // elements that stay in the cache meanwhile
  const auto [to_step, from_step] = rows.steps();
  Shape others = rows.outer();
  std::array<Dims, 2> strides{rows.strides(0), rows.strides(1)};
  const std::int64_t to_row = strides[0].back(), from_row = strides[1].back(), beside = others.back();
  const std::int64_t some = std::max<std::int64_t>(1, kNear / rows.length());
  others.pop_back();
  for (Dims& list : strides) list.pop_back();
  const Rows<2> planes(others, strides);
  const std::int64_t parts = (beside + some - 1) / some;
  parallel_for(planes.count() * planes.length() * parts,
               std::max<std::int64_t>(1, kGrain<Word> / (some * rows.length())),
               [&, to_step = to_step, from_step = from_step](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t item = begin; item < end; ++item) {
                   const std::int64_t plane = item / parts, first = item % parts * some;
                   const std::int64_t count = std::min(some, beside - first), along = plane % planes.length();
                   planes.each(plane / planes.length(), plane / planes.length() + 1, [&](const auto& offsets) {
                     Word* z = to.as<Word>() + offsets[0] + along * planes.steps()[0] + first * to_row;
                     const Word* x = from.as<Word>() + offsets[1] + along * planes.steps()[1] + first * from_row;
                     for (std::int64_t i = 0; i < rows.length(); ++i, z += to_step, x += from_step)
                       for (std::int64_t row = 0; row < count; ++row) z[row * to_row] = x[row * from_row];
                   });
                 }
               });
}

template <class Word>
void copy_rows(const Array& from, const Array& to, const Rows<2>& rows) {
  if (rows.length() <= kShortRow && rows.count() > 1) return copy_short_rows<Word>(from, to, rows);
  const auto [to_step, from_step] = rows.steps();
  if (rows.count() == 1) {
    parallel_for(rows.length(), kGrain<Word>,
                 [&, to_step = to_step, from_step = from_step](std::int64_t begin, std::int64_t end) {
                   copy_row(from.as<Word>() + begin * from_step, from_step, to.as<Word>() + begin * to_step, to_step,
                            end - begin);
                 });
    return;
  }
  const bool dense = to_step == 1 && from_step == 1;
  const std::size_t bytes = static_cast<std::size_t>(rows.length()) * sizeof(Word);
  parallel_for(rows.count(), std::max<std::int64_t>(1, kGrain<Word> / rows.length()),
               [&, to_step = to_step, from_step = from_step](std::int64_t begin, std::int64_t end) {
                 if (dense)
                   rows.each(begin, end, [&](const auto& offsets) {
                     copy_bytes(to.as<Word>() + offsets[0], from.as<Word>() + offsets[1], bytes);
                   });
                 else
                   rows.each(begin, end, [&](const auto& offsets) {
                     copy_row(from.as<Word>() + offsets[1], from_step, to.as<Word>() + offsets[0], to_step,
                              rows.length());
                   });
               });
}

/// Copies between arrays whose elements are closest together in different dimensions. For `from` this is dimension
/// `fast` of rows.outer(), for `to` the last one.
template <class Word>
void transpose(const Array& from, const Array& to, const Rows<2>& rows, int fast) {
  using Transposer = cpu::Transposer<Word>;
  Shape others = rows.outer();
  std::array<Dims, 2> strides{rows.strides(0), rows.strides(1)};
  const std::int64_t columns = others[fast], to_step = strides[0][fast], from_step = rows.steps()[1];
  others.erase(fast);
  for (Dims& list : strides) list.erase(fast);
  const Rows<2> planes(others, strides);

  bool streams = kCanStream && to.numel() * static_cast<std::int64_t>(sizeof(Word)) >= kStreamedBytes &&
                 reinterpret_cast<std::uintptr_t>(to.data) % 64 == 0 && to_step % Transposer::kLine == 0;
  for (const std::int64_t stride : strides[0]) streams = streams && stride % Transposer::kLine == 0;
  // Several short rows are taken together: a thread's chunk should be worth finding its beginning.
  constexpr std::int64_t kWords = 4096;
  const std::int64_t rows_per_strip = kWords / rows.length() / Transposer::kStrip * Transposer::kStrip;
  const std::int64_t strip = streams ? Transposer::kStreamedStrip : std::max(Transposer::kStrip, rows_per_strip);
  // The last strip also takes columns that are too few for a strip of their own.
  const std::int64_t least = streams ? 1 : Transposer::kSide;
  const std::int64_t strips = std::max<std::int64_t>(1, (columns + strip - least) / strip);
  const std::int64_t plane_count = planes.count() * planes.length();
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain<Word> / (strip * rows.length()));
  parallel_for(plane_count * strips, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t first = item % strips * strip, plane = item / strips;
      const std::int64_t row = plane / planes.length(), along = plane % planes.length();
      const Word* source = from.as<Word>() + first;
      Word* target = to.as<Word>() + first * to_step;
      planes.each(row, row + 1, [&](const auto& offsets) {
        target += offsets[0] + along * planes.steps()[0];
        source += offsets[1] + along * planes.steps()[1];
      });
      (streams ? Transposer::stream : Transposer::run)(source, from_step, target, to_step, rows.length(),
                                                       item % strips + 1 < strips ? strip : columns - first);
    }
  });
}

template <class Word>
void copy_words(const Array& from, const Array& to) {
  const Rows<2> rows(from.shape, {to.strides, from.strides});
  if (rows.count() == 0) return;
  const auto [to_step, from_step] = rows.steps();
  if (to_step == 1 && from_step != 1 && (from_step != 0 || rows.length() <= kShortRow))
    for (int i = 0; i < rows.outer().size(); ++i)
      if (rows.strides(1)[i] == 1) return transpose<Word>(from, to, rows, i);
  copy_rows<Word>(from, to, rows);
}

}  // namespace

void copy(const Array& from, const Array& to) {
  KILN_CHECK(from.shape == to.shape && from.dtype == to.dtype);
  switch (size_of(from.dtype)) {
    case 1: return copy_words<std::uint8_t>(from, to);
    case 2: return copy_words<std::uint16_t>(from, to);
    case 4: return copy_words<std::uint32_t>(from, to);
    case 8: return copy_words<std::uint64_t>(from, to);
  }
  KILN_CHECK(false);
}

}  // namespace kiln::cpu
