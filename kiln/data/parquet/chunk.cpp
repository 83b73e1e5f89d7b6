#include "kiln/data/parquet/chunk.hpp"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "kiln/core/error/shown.hpp"
#include "kiln/data/parquet/encodings.hpp"

namespace kiln::parquet {
namespace {

enum PageType { kData = 0, kIndex = 1, kDictionary = 2, kData2 = 3 };

struct PageHeader {
  std::int32_t type = -1, size = 0, packed = 0, values = 0, encoding = 0;
  std::int32_t level_encoding = static_cast<int>(Encoding::Runs);
  std::int32_t definition_bytes = 0, repetition_bytes = 0;  // for data pages of version 2
  bool is_packed = true;
  std::optional<std::uint32_t> checksum{};
};

PageHeader read_header(Bytes& bytes) {
  Thrift in(bytes);
  PageHeader page;
  in.structure([&](int field) {
    if (field == 1) page.type = in.whole32();
    if (field == 2) page.size = in.whole32();
    if (field == 3) page.packed = in.whole32();
    if (field == 4) page.checksum = static_cast<std::uint32_t>(in.whole32());
    if (field == 5 || field == 7)
      in.structure([&](int part) {
        if (part == 1) page.values = in.whole32();
        if (part == 2) page.encoding = in.whole32();
        if (part == 3 && field == 5) page.level_encoding = in.whole32();
      });
    if (field == 8)
      in.structure([&](int part) {
        if (part == 1) page.values = in.whole32();
        if (part == 4) page.encoding = in.whole32();
        if (part == 5) page.definition_bytes = in.whole32();
        if (part == 6) page.repetition_bytes = in.whole32();
        if (part == 7) page.is_packed = in.flag();
      });
  });
  bytes = in.bytes();
  if (page.size < 0 || page.packed < 0 || page.values < 0 || page.definition_bytes < 0 || page.repetition_bytes < 0)
    throw_damaged(bytes.file(), "a page has sizes below 0");
  return page;
}

class Reader {
 public:
  Reader(const FileBytes& file, const Column& column, const ChunkPlace& place, std::int64_t rows, std::int64_t most)
      : name_(file.name),
        column_(column),
        place_(place),
        values_(column, file.name, static_cast<std::uint64_t>(most)),
        most_(most) {
    chunk_.file = file;
    chunk_.lists.resize(column.lists.size());
    const auto all = file.bytes.subspan(static_cast<std::size_t>(place.begin), static_cast<std::size_t>(place.size));
    for (Bytes bytes(all, name_, "a column"); seen_ < place.values;) {
      const PageHeader header = read_header(bytes);
      const auto body = bytes.take(static_cast<std::uint64_t>(header.packed));
      constexpr std::int64_t kText = sizeof(std::string_view), kNumber = 8, kLevels = 2;
      spend(header.size + header.values * ((column.kind() == Kind::Bytes ? kText : kNumber) + kLevels));
      if (header.checksum && *header.checksum != checksum_of(body))
        throw_damaged(name_, "the checksum of a page differs");
      if (header.type == kDictionary) dictionary(header, body);
      else if (header.type == kData || header.type == kData2) data(header, body);
      else if (header.type != kIndex) throw_damaged(name_, "a page of type ", header.type);
    }
    const std::int64_t rows_seen = chunk_.lists.empty() ? seen_ : std::ssize(chunk_.lists[0].begins);
    if (rows_seen != rows)
      throw_damaged(name_, "the column '", shown(column_.name), "' has ", rows_seen, " of ", rows, " rows");
    for (std::size_t depth = 0; depth < chunk_.lists.size(); ++depth)
      chunk_.lists[depth].begins.push_back(items(depth));
    if (column_.kind() != Kind::Bytes) chunk_.pages.clear();
  }
  Chunk take() { return std::move(chunk_); }

 private:
  using Levels = std::vector<std::uint8_t>;

  void spend(std::int64_t bytes) {
    spent_ += bytes;
    if (spent_ <= most_) return;
    fail<DataError>(name_, ": column '", shown(column_.name), "' takes more than ", most_, " bytes in a part of ",
                    place_.size, " (ParquetFile's most_bytes allows more)");
  }

  static std::uint32_t checksum_of(std::span<const std::byte> body) {
    return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const unsigned char*>(body.data()), body.size()));
  }

  /// The number of items in all lists at that depth.
  std::uint32_t items(std::size_t depth) const {
    if (depth + 1 < chunk_.lists.size()) return static_cast<std::uint32_t>(chunk_.lists[depth + 1].levels.size());
    return static_cast<std::uint32_t>(chunk_.levels.size());
  }

  std::span<const std::byte> kept(Page page) {
    const auto bytes = page.bytes;
    if (page.own) chunk_.pages.push_back(std::move(page));
    return bytes;
  }

  void dictionary(const PageHeader& header, std::span<const std::byte> body) {
    const auto bytes = kept(decompressed(body, static_cast<std::size_t>(header.size), place_.codec, name_));
    values_.take_dictionary(Bytes(bytes, name_, "a dictionary"), header.values);
  }

  void data(const PageHeader& header, std::span<const std::byte> body) {
    if (header.values > place_.values - seen_) throw_damaged(name_, "a page has more values than its column");
    seen_ += header.values;
    Levels repetitions, definitions;
    const int most_repetition = static_cast<int>(column_.lists.size()), most_definition = column_.most_definition;
    std::span<const std::byte> values;
    if (header.type == kData2) {
      Bytes in(body, name_, "a page");
      repetitions =
          levels(in.take(static_cast<std::uint64_t>(header.repetition_bytes)), most_repetition, header.values);
      definitions =
          levels(in.take(static_cast<std::uint64_t>(header.definition_bytes)), most_definition, header.values);
      const std::int64_t size = std::int64_t{header.size} - header.repetition_bytes - header.definition_bytes;
      if (size < 0) throw_damaged(name_, "a page is smaller than its levels");
      values =
          kept(decompressed(in.rest(), static_cast<std::size_t>(size), header.is_packed ? place_.codec : 0, name_));
    } else {
      const auto bytes = kept(decompressed(body, static_cast<std::size_t>(header.size), place_.codec, name_));
      Bytes in(bytes, name_, "a page");
      if (most_repetition + most_definition > 0 && header.level_encoding != static_cast<int>(Encoding::Runs))
        fail<DataError>(name_, ": has levels of encoding ", header.level_encoding, ", which are not supported");
      if (most_repetition) repetitions = levels(in.take(in.number<std::uint32_t>()), most_repetition, header.values);
      if (most_definition) definitions = levels(in.take(in.number<std::uint32_t>()), most_definition, header.values);
      values = in.rest();
    }
    const auto there =
        most_definition ? std::ranges::count(definitions, static_cast<std::uint8_t>(most_definition)) : header.values;
    place(values_.read(Bytes(values, name_, "a page"), header.encoding, there, chunk_.pages), repetitions, definitions);
  }

  Levels levels(std::span<const std::byte> bytes, int most, std::int64_t count) const {
    Levels levels;
    if (most == 0) return levels;
    Bytes in(bytes, name_, "a list of levels");
    read_runs(in, std::bit_width(static_cast<unsigned>(most)), count, [&](std::uint64_t level) {
      if (level > static_cast<unsigned>(most))
        throw_damaged(name_, "a level of ", level, " where ", most, " is the highest");
      levels.push_back(static_cast<std::uint8_t>(level));
    });
    return levels;
  }

  /// Appends values, with gaps for missing ones.
  void place(Values values, const Levels& repetitions, const Levels& definitions) {
    switch (column_.kind()) {
      case Kind::Numbers: return place(values.numbers, chunk_.elements.numbers, repetitions, definitions);
      case Kind::Bytes: return place(values.bytes, chunk_.elements.bytes, repetitions, definitions);
      default: return place(values.integers, chunk_.elements.integers, repetitions, definitions);
    }
  }
  template <class T>
  void place(const std::vector<T>& values, std::vector<T>& into, const Levels& repetitions, const Levels& definitions) {
    if (column_.most_definition == 0) {
      into.insert(into.end(), values.begin(), values.end());
      return;
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < definitions.size(); ++i) {
      if (!chunk_.lists.empty() && !open_lists(repetitions[i], definitions[i])) continue;
      into.push_back(definitions[i] == column_.most_definition ? values[next++] : T{});
      chunk_.levels.push_back(definitions[i]);
    }
  }

  /// Begins a row (0), or an item of the lists at a depth, and the first lists inside it; returns whether there is an
  /// element in the innermost list.
  bool open_lists(std::size_t repetition, std::uint8_t definition) {
    auto& lists = chunk_.lists;
    if (repetition > open_) throw_damaged(name_, "a list continues before it begins");
    for (open_ = repetition; open_ < lists.size(); ++open_) {
      lists[open_].begins.push_back(items(open_));
      lists[open_].levels.push_back(definition);
      if (definition < column_.lists[open_]) return false;
    }
    return true;
  }

  std::string_view name_;
  const Column& column_;
  const ChunkPlace& place_;
  ValueReader values_;
  Chunk chunk_;
  std::int64_t seen_ = 0, most_, spent_ = 0;
  std::size_t open_ = 0;  // lists that the next element may continue
};

}  // namespace

std::int64_t Chunk::size_in_memory() const {
  std::size_t size = elements.integers.size() * 8 + elements.numbers.size() * 8 +
                     elements.bytes.size() * sizeof(std::string_view) + levels.size();
  for (const Lists& each : lists) size += each.begins.size() * 4 + each.levels.size();
  for (const Page& page : pages) size += page.bytes.size();
  return static_cast<std::int64_t>(size);
}

Chunk read_chunk(const FileBytes& file, const Column& column, const ChunkPlace& place, std::int64_t rows,
                 std::int64_t most_bytes) {
  if (!column.problem.empty()) fail<DataError>(file.name, ": column '", shown(column.name), "': ", column.problem);
  if (rows > (std::int64_t{1} << 31) || place.values > (std::int64_t{1} << 31))
    throw_damaged(file.name, "a part of ", rows, " rows and ", place.values, " values");
  constexpr std::int64_t kOfAny = std::int64_t{1} << 30, kInflation = 64;
  const auto bytes = static_cast<std::int64_t>(place.size);
  const std::int64_t most = std::max({kOfAny, most_bytes, bytes > INT64_MAX / kInflation ? bytes : bytes * kInflation});
  return Reader(file, column, place, rows, most).take();
}

}  // namespace kiln::parquet
