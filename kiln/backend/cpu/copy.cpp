#include <algorithm>
#include <cstring>

#include "kiln/backend/cpu/rows.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu {
namespace {

constexpr std::int64_t kGrain = 65536;  // elements worth a thread's while

template <class Word>
void copy_row(const Word* from, std::int64_t from_step, Word* to, std::int64_t to_step, std::int64_t count) {
  if (to_step == 1 && from_step == 1) std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(Word));
  else if (to_step == 1 && from_step == 0) std::fill_n(to, count, *from);
  else
    for (std::int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
}

template <class Word>
void copy_rows(const Array& from, const Array& to, const Rows<2>& rows) {
  const auto [to_step, from_step] = rows.steps();
  if (rows.count() == 1) {
    parallel_for(rows.length(), kGrain,
                 [&, to_step = to_step, from_step = from_step](std::int64_t begin, std::int64_t end) {
                   copy_row(from.as<Word>() + begin * from_step, from_step, to.as<Word>() + begin * to_step, to_step,
                            end - begin);
                 });
    return;
  }
  parallel_for(rows.count(), std::max<std::int64_t>(1, kGrain / rows.length()),
               [&](std::int64_t begin, std::int64_t end) {
                 rows.each(begin, end, [&](const auto& offsets) {
                   copy_row(from.as<Word>() + offsets[1], rows.steps()[1], to.as<Word>() + offsets[0], rows.steps()[0],
                            rows.length());
                 });
               });
}

/// A copy between arrays whose elements lie closest together in different dimensions: `fast` is the dimension of
/// rows.outer() in which `from` does. Goes in tiles, so that each cache line is read and written while it is there.
template <class Word>
void transpose(const Array& from, const Array& to, const Rows<2>& rows, int fast) {
  constexpr std::int64_t kTile = 16;
  Shape others = rows.outer();
  std::array<Dims, 2> strides{rows.strides(0), rows.strides(1)};
  const std::int64_t columns = others[fast], column_to = strides[0][fast], column_from = strides[1][fast];
  const auto [row_to, row_from] = rows.steps();
  others.erase(fast);
  for (Dims& list : strides) list.erase(fast);
  const Rows<2> planes(others, strides);
  const std::int64_t strips = (columns + kTile - 1) / kTile, plane_count = planes.count() * planes.length();

  const auto copy_strip = [&, row_to = row_to, row_from = row_from](std::int64_t plane, std::int64_t strip) {
    const Word* source = from.as<Word>() + strip * kTile * column_from;
    Word* target = to.as<Word>() + strip * kTile * column_to;
    const std::int64_t row = plane / planes.length(), along = plane % planes.length();
    planes.each(row, row + 1, [&](const auto& offsets) {
      target += offsets[0] + along * planes.steps()[0];
      source += offsets[1] + along * planes.steps()[1];
    });
    const std::int64_t width = std::min(kTile, columns - strip * kTile);
    for (std::int64_t begin = 0; begin < rows.length(); begin += kTile) {
      const std::int64_t height = std::min(kTile, rows.length() - begin);
      for (std::int64_t column = 0; column < width; ++column)
        copy_row(source + begin * row_from + column * column_from, row_from,
                 target + begin * row_to + column * column_to, row_to, height);
    }
  };
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / (kTile * rows.length()));
  parallel_for(plane_count * strips, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t item = begin; item < end; ++item) copy_strip(item / strips, item % strips);
  });
}

template <class Word>
void copy_words(const Array& from, const Array& to) {
  const Rows<2> rows(from.shape, {to.strides, from.strides});
  if (rows.count() == 0) return;
  const std::int64_t step = rows.steps()[1];
  if (step != 0 && step != 1)
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
