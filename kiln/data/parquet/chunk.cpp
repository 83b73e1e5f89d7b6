#include "kiln/data/parquet/chunk.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "kiln/core/error/shown.hpp"
#include "kiln/data/parquet/encodings.hpp"

namespace kiln::parquet {
namespace {

enum PageType { kData = 0, kIndex = 1, kDictionary = 2, kData2 = 3 };

struct PageHeader {
  std::int32_t type = -1, size = 0, packed = 0, values = 0, encoding = 0;
  std::int32_t level_encoding = static_cast<int>(Encoding::Runs);
  std::int32_t definition_bytes = 0, repetition_bytes = 0;  // of a page of the second kind
  bool is_packed = true;
};

PageHeader read_header(Bytes& bytes) {
  Thrift in(bytes);
  PageHeader page;
  in.structure([&](int field) {
    if (field == 1) page.type = in.whole32();
    if (field == 2) page.size = in.whole32();
    if (field == 3) page.packed = in.whole32();
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
    refuse(bytes.file(), "a page has sizes below 0");
  return page;
}

/// Elements of one kind that wait to be put where they belong.
struct Values {
  std::vector<std::int64_t> wholes;
  std::vector<double> numbers;
  std::vector<std::string_view> bytes;
};

class Reader {
 public:
  Reader(const FileBytes& file, const Column& column, const ChunkPlace& place, std::int64_t rows)
      : name_(file.name), column_(column), place_(place) {
    chunk_.file = file;
    const auto all = file.bytes.subspan(static_cast<std::size_t>(place.begin), static_cast<std::size_t>(place.size));
    for (Bytes bytes(all, name_, "a column"); seen_ < place.values;) {
      const PageHeader header = read_header(bytes);
      const auto body = bytes.take(static_cast<std::uint64_t>(header.packed));
      if (header.type == kDictionary) dictionary(header, body);
      else if (header.type == kData || header.type == kData2) data(header, body);
      else if (header.type != kIndex) refuse(name_, "a page of type ", header.type);
    }
    const std::int64_t rows_seen = is_list() ? std::ssize(chunk_.begins) : seen_;
    if (rows_seen != rows)
      refuse(name_, "the column '", shown(column_.name), "' has ", rows_seen, " of ", rows, " rows");
    if (is_list()) chunk_.begins.push_back(elements());
    if (column_.kind() != Kind::Bytes) chunk_.pages.clear();
  }
  Chunk take() { return std::move(chunk_); }

 private:
  bool is_list() const { return column_.most_repetition > 0; }

  std::uint32_t elements() const {
    switch (column_.kind()) {
      case Kind::Numbers: return static_cast<std::uint32_t>(chunk_.numbers.size());
      case Kind::Bytes: return static_cast<std::uint32_t>(chunk_.bytes.size());
      default: return static_cast<std::uint32_t>(chunk_.wholes.size());
    }
  }

  std::span<const std::byte> kept(Page page) {
    const auto bytes = page.bytes;
    if (page.own) chunk_.pages.push_back(std::move(page));
    return bytes;
  }

  void dictionary(const PageHeader& header, std::span<const std::byte> body) {
    const auto bytes = kept(unpacked(body, static_cast<std::size_t>(header.size), place_.codec, name_));
    Bytes in(bytes, name_, "a dictionary");
    dictionary_ = plain(in, header.values);
    dictionary_size_ = header.values;
  }

  void data(const PageHeader& header, std::span<const std::byte> body) {
    if (header.values > place_.values - seen_) refuse(name_, "a page has more values than its column");
    seen_ += header.values;
    std::vector<std::uint8_t> repetitions, definitions;
    const int of_repetition = std::bit_width(static_cast<unsigned>(column_.most_repetition)),
              of_definition = std::bit_width(static_cast<unsigned>(column_.most_definition));
    std::span<const std::byte> values;
    if (header.type == kData2) {
      Bytes in(body, name_, "a page");
      repetitions = levels(in.take(static_cast<std::uint64_t>(header.repetition_bytes)), of_repetition, header.values);
      definitions = levels(in.take(static_cast<std::uint64_t>(header.definition_bytes)), of_definition, header.values);
      const std::int64_t size = std::int64_t{header.size} - header.repetition_bytes - header.definition_bytes;
      if (size < 0) refuse(name_, "a page is smaller than its levels");
      values = kept(unpacked(in.rest(), static_cast<std::size_t>(size), header.is_packed ? place_.codec : 0, name_));
    } else {
      const auto bytes = kept(unpacked(body, static_cast<std::size_t>(header.size), place_.codec, name_));
      Bytes in(bytes, name_, "a page");
      if (of_repetition + of_definition > 0 && header.level_encoding != static_cast<int>(Encoding::Runs))
        fail<DataError>(name_, ": has levels of encoding ", header.level_encoding, ", which are not read");
      if (of_repetition) repetitions = levels(in.take(in.number<std::uint32_t>()), of_repetition, header.values);
      if (of_definition) definitions = levels(in.take(in.number<std::uint32_t>()), of_definition, header.values);
      values = in.rest();
    }
    const auto there = of_definition
                           ? std::ranges::count(definitions, static_cast<std::uint8_t>(column_.most_definition))
                           : header.values;
    Bytes in(values, name_, "a page");
    place(decoded(in, header.encoding, there), repetitions, definitions, header.values);
  }

  std::vector<std::uint8_t> levels(std::span<const std::byte> bytes, int width, std::int64_t count) {
    std::vector<std::uint8_t> levels;
    if (width == 0) return levels;
    Bytes in(bytes, name_, "a list of levels");
    read_runs(in, width, count, [&](std::uint64_t level) { levels.push_back(static_cast<std::uint8_t>(level)); });
    return levels;
  }

  Values decoded(Bytes& in, std::int32_t encoding, std::int64_t count) {
    Values values;
    switch (static_cast<Encoding>(encoding)) {
      case Encoding::Plain: return plain(in, count);
      case Encoding::PlainDictionary:
      case Encoding::Dictionary: return by_dictionary(in, count);
      case Encoding::Runs:
        if (column_.stored != Stored::Boolean) break;
        in.take(4);  // how long it is
        read_runs(in, 1, count, [&](std::uint64_t flag) { values.wholes.push_back(static_cast<std::int64_t>(flag)); });
        return values;
      case Encoding::DeltaBinaryPacked:
        if (column_.kind() != Kind::Wholes) break;
        values.wholes = read_deltas(in, count);
        for (auto& whole : values.wholes) whole = of_width(whole);
        return values;
      case Encoding::DeltaLengthByteArray:
        if (column_.stored != Stored::ByteArray) break;
        values.bytes = read_delta_lengths(in, count);
        return values;
      case Encoding::DeltaByteArray: {
        if (column_.kind() != Kind::Bytes) break;
        Page made;
        values.bytes = read_delta_texts(in, count, made.own);
        chunk_.pages.push_back(std::move(made));
        return values;
      }
      case Encoding::ByteStreamSplit: {
        if (column_.kind() == Kind::Flags || column_.stored == Stored::ByteArray) break;
        return split_streams(in, count);
      }
    }
    fail<DataError>(name_, ": column '", shown(column_.name), "': is of encoding ", encoding, ", which is not read");
  }

  /// Whole numbers of 32 bits are in as many, with or without a sign.
  std::int64_t of_width(std::int64_t whole) const {
    if (column_.stored != Stored::Int32) return whole;
    return column_.without_sign ? std::int64_t{static_cast<std::uint32_t>(whole)}
                                : std::int64_t{static_cast<std::int32_t>(whole)};
  }

  Values plain(Bytes& in, std::int64_t count) {
    Values values;
    const auto each = [&](std::uint64_t bytes) {  // so many bytes for each are there, before memory is asked for
      if (static_cast<std::uint64_t>(count) > in.rest().size() / bytes) refuse(name_, "a page ends too early");
      return count;
    };
    switch (column_.stored) {
      case Stored::Boolean: {
        const auto packed = in.take((static_cast<std::uint64_t>(count) + 7) / 8);
        for (std::int64_t i = 0; i < count; ++i)
          values.wholes.push_back(static_cast<std::int64_t>(packed_bits(packed, static_cast<std::uint64_t>(i), 1)));
        break;
      }
      case Stored::Int32:
        values.wholes.reserve(static_cast<std::size_t>(each(4)));
        for (std::int64_t i = 0; i < count; ++i) values.wholes.push_back(of_width(in.number<std::int32_t>()));
        break;
      case Stored::Int64:
        values.wholes.reserve(static_cast<std::size_t>(each(8)));
        for (std::int64_t i = 0; i < count; ++i) values.wholes.push_back(in.number<std::int64_t>());
        break;
      case Stored::Float:
        values.numbers.reserve(static_cast<std::size_t>(each(4)));
        for (std::int64_t i = 0; i < count; ++i) values.numbers.push_back(double{in.number<float>()});
        break;
      case Stored::Double:
        values.numbers.reserve(static_cast<std::size_t>(each(8)));
        for (std::int64_t i = 0; i < count; ++i) values.numbers.push_back(in.number<double>());
        break;
      default:
        values.bytes.reserve(static_cast<std::size_t>(each(column_.stored == Stored::ByteArray ? 4 : 1)));
        for (std::int64_t i = 0; i < count; ++i) {
          const auto size = column_.stored == Stored::ByteArray ? in.number<std::uint32_t>()
                                                                : static_cast<std::uint32_t>(column_.width);
          const auto bytes = in.take(size);
          values.bytes.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        }
    }
    return values;
  }

  /// The first bytes of all numbers, then the second ones, ...
  Values split_streams(Bytes& in, std::int64_t count) {
    const std::size_t width = column_.stored == Stored::FixedLenByteArray ? static_cast<std::size_t>(column_.width)
                              : column_.stored == Stored::Int32 || column_.stored == Stored::Float ? 4
                                                                                                   : 8;
    const auto n = static_cast<std::size_t>(count);
    if (n > in.rest().size() / width) refuse(name_, "a page ends too early");
    const auto streams = in.take(n * width);
    Page joined{.bytes = {}, .own = std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(n * width, 1))};
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t byte = 0; byte < width; ++byte) joined.own[i * width + byte] = streams[byte * n + i];
    joined.bytes = {joined.own.get(), n * width};
    Bytes bytes(kept(std::move(joined)), name_, "a page");
    return plain(bytes, count);
  }

  Values by_dictionary(Bytes& in, std::int64_t count) {
    Values values;
    if (count == 0) return values;
    const int width = in.byte();
    const auto look_up = [&](const auto& known, auto& found) {
      read_runs(in, width, count, [&](std::uint64_t index) {
        if (index >= known.size())
          refuse(name_, "entry ", index, " of a dictionary of ", dictionary_size_, " in '", shown(column_.name), "'");
        found.push_back(known[index]);
      });
    };
    if (column_.kind() == Kind::Numbers) look_up(dictionary_.numbers, values.numbers);
    else if (column_.kind() == Kind::Bytes) look_up(dictionary_.bytes, values.bytes);
    else look_up(dictionary_.wholes, values.wholes);
    return values;
  }

  /// Each value that is there behind those before, with nothing where one is missing.
  void place(Values values, const std::vector<std::uint8_t>& repetitions, const std::vector<std::uint8_t>& definitions,
             std::int64_t count) {
    if (column_.kind() == Kind::Numbers) place(values.numbers, chunk_.numbers, repetitions, definitions, count);
    else if (column_.kind() == Kind::Bytes) place(values.bytes, chunk_.bytes, repetitions, definitions, count);
    else place(values.wholes, chunk_.wholes, repetitions, definitions, count);
  }
  template <class T>
  void place(std::vector<T>& values, std::vector<T>& into, const std::vector<std::uint8_t>& repetitions,
             const std::vector<std::uint8_t>& definitions, std::int64_t count) {
    if (definitions.empty() && !is_list()) {
      into.insert(into.end(), values.begin(), values.end());
      return;
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      const int level = definitions.empty() ? column_.most_definition : definitions[i];
      if (is_list()) {
        if (repetitions[i] == 0) {
          chunk_.begins.push_back(static_cast<std::uint32_t>(into.size()));
          chunk_.no_list.push_back(level + 1 < column_.list_definition);
        } else if (chunk_.begins.empty()) {
          refuse(name_, "a list goes on before it begins");
        }
        if (level < column_.list_definition) continue;  // no element
      }
      const bool there = level == column_.most_definition;
      into.push_back(there ? values[next++] : T{});
      chunk_.missing.push_back(!there);
    }
  }

  std::string_view name_;
  const Column& column_;
  const ChunkPlace& place_;
  Chunk chunk_;
  Values dictionary_;
  std::int64_t dictionary_size_ = 0, seen_ = 0;
};

}  // namespace

std::int64_t Chunk::size_in_memory() const {
  std::size_t size = wholes.size() * 8 + numbers.size() * 8 + bytes.size() * sizeof(std::string_view) + missing.size() +
                     begins.size() * 4 + no_list.size();
  for (const Page& page : pages) size += page.bytes.size();
  return static_cast<std::int64_t>(size);
}

Chunk read_chunk(const FileBytes& file, const Column& column, const ChunkPlace& place, std::int64_t rows) {
  if (!column.problem.empty()) fail<DataError>(file.name, ": column '", shown(column.name), "': ", column.problem);
  if (rows > (std::int64_t{1} << 31) || place.values > (std::int64_t{1} << 31))
    refuse(file.name, "a part of ", rows, " rows and ", place.values, " values");
  return Reader(file, column, place, rows).take();
}

}  // namespace kiln::parquet
