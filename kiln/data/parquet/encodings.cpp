#include "kiln/data/parquet/encodings.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace kiln::parquet {

std::vector<std::int64_t> read_deltas(Bytes& in, std::int64_t count) {
  const std::uint64_t block = in.varint(), parts = in.varint(), total = in.varint();
  if (block == 0 || block > 1 << 20 || parts == 0 || block % parts != 0 || block / parts % 8 != 0)
    throw_damaged(in.file(), "differences in blocks of ", block, " in ", parts, " parts");
  if (total != static_cast<std::uint64_t>(count))
    throw_damaged(in.file(), total, " differences where there are ", count);
  std::vector<std::int64_t> numbers;
  auto value = static_cast<std::uint64_t>(in.zigzag());  // wraps around
  if (count > 0) numbers.push_back(static_cast<std::int64_t>(value));
  const std::uint64_t each = block / parts;
  while (std::ssize(numbers) < count) {
    const auto least = static_cast<std::uint64_t>(in.zigzag());
    const auto widths = in.take(parts);
    for (std::uint64_t part = 0; part < parts && std::ssize(numbers) < count; ++part) {
      const int width = std::to_integer<int>(widths[part]);
      if (width > 64) throw_damaged(in.file(), "differences of ", width, " bits");
      const auto packed = in.take(each / 8 * static_cast<std::uint64_t>(width));
      for (std::uint64_t i = 0; i < each && std::ssize(numbers) < count; ++i) {
        value += least + (width ? packed_bits(packed, i, width) : 0);
        numbers.push_back(static_cast<std::int64_t>(value));
      }
    }
  }
  return numbers;
}

std::vector<std::string_view> read_delta_lengths(Bytes& in, std::int64_t count) {
  std::vector<std::string_view> texts;
  for (const std::int64_t length : read_deltas(in, count)) {
    if (length < 0) throw_damaged(in.file(), "a text of ", length, " bytes");
    const auto letters = in.take(static_cast<std::uint64_t>(length));
    texts.emplace_back(reinterpret_cast<const char*>(letters.data()), letters.size());
  }
  return texts;
}

std::vector<std::string_view> read_delta_texts(Bytes& in, std::int64_t count, std::uint64_t most,
                                               std::unique_ptr<std::byte[]>& made) {
  // The length of the prefix shared with the previous text, and the rest.
  const std::vector<std::int64_t> common = read_deltas(in, count);
  std::vector<std::string_view> texts = read_delta_lengths(in, count);
  std::uint64_t size = 0, before = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto shared = static_cast<std::uint64_t>(common[i]);
    if (common[i] < 0 || shared > before)
      throw_damaged(in.file(), "a text shares more with the one before than that has");
    before = shared + texts[i].size();
    size += before;
    if (size > most)
      fail<DataError>(in.file(), ": a page of more than ", most,
                      " bytes of texts (ParquetFile's most_bytes allows more)");
  }
  made = std::make_unique_for_overwrite<std::byte[]>(std::max<std::uint64_t>(size, 1));
  char* at = reinterpret_cast<char*>(made.get());
  const char* last = at;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto shared = static_cast<std::size_t>(common[i]);
    std::memcpy(at, last, shared);
    std::memcpy(at + shared, texts[i].data(), texts[i].size());
    last = std::exchange(at, at + shared + texts[i].size());
    texts[i] = {last, shared + texts[i].size()};
  }
  return texts;
}

}  // namespace kiln::parquet
