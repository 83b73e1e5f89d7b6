#include "kiln/data/parquet/values.hpp"

#include <algorithm>
#include <utility>

#include "kiln/core/error/shown.hpp"
#include "kiln/data/parquet/encodings.hpp"

namespace kiln::parquet {

void ValueReader::take_dictionary(Bytes in, std::int64_t count) {
  dictionary_ = converted(plain(in, count), column_, file_);
  dictionary_size_ = count;
}

Values ValueReader::read(Bytes in, std::int32_t encoding, std::int64_t count, std::vector<Page>& pages) const {
  const Kind kind = column_.stored_kind();
  Values values;
  switch (static_cast<Encoding>(encoding)) {
    case Encoding::Plain: return converted(plain(in, count), column_, file_);
    case Encoding::PlainDictionary:
    case Encoding::Dictionary: return by_dictionary(in, count);
    case Encoding::Runs:
      if (kind != Kind::Flags) break;
      in.take(4);  // its length
      read_runs(in, 1, count, [&](std::uint64_t flag) { values.integers.push_back(static_cast<std::int64_t>(flag)); });
      return values;
    case Encoding::DeltaBinaryPacked:
      if (kind != Kind::Integers) break;
      values.integers = read_deltas(in, count);
      for (auto& whole : values.integers) whole = of_width(whole);
      return converted(std::move(values), column_, file_);
    case Encoding::DeltaLengthByteArray:
      if (column_.stored != PhysicalType::ByteArray) break;
      values.bytes = read_delta_lengths(in, count);
      return converted(std::move(values), column_, file_);
    case Encoding::DeltaByteArray: {
      if (kind != Kind::Bytes) break;
      Page made;
      values.bytes = read_delta_texts(in, count, most_, made.own);
      for (const std::string_view bytes : values.bytes)
        if (column_.width > 0 && std::ssize(bytes) != column_.width)
          throw_damaged(file_, "a value of ", bytes.size(), " bytes instead of ", column_.width);
      pages.push_back(std::move(made));
      return converted(std::move(values), column_, file_);
    }
    case Encoding::ByteStreamSplit:
      if (kind == Kind::Flags || column_.stored == PhysicalType::ByteArray || column_.stored == PhysicalType::Int96)
        break;
      return converted(split_streams(in, count, pages), column_, file_);
  }
  fail<DataError>(file_, ": column '", shown(column_.name), "': is of encoding ", encoding, ", which is not supported");
}

/// 32-bit integers are extended with or without sign.
std::int64_t ValueReader::of_width(std::int64_t whole) const {
  if (column_.stored != PhysicalType::Int32) return whole;
  return column_.without_sign ? std::int64_t{static_cast<std::uint32_t>(whole)}
                              : std::int64_t{static_cast<std::int32_t>(whole)};
}

Values ValueReader::plain(Bytes& in, std::int64_t count) const {
  Values values;
  // Checks that there are as many bytes per value, before memory is allocated.
  const auto each = [&](std::uint64_t bytes) {
    if (static_cast<std::uint64_t>(count) > in.rest().size() / bytes) throw_damaged(file_, "a page ends too early");
    return count;
  };
  switch (column_.stored) {
    case PhysicalType::Boolean: {
      const auto packed = in.take((static_cast<std::uint64_t>(count) + 7) / 8);
      for (std::int64_t i = 0; i < count; ++i)
        values.integers.push_back(static_cast<std::int64_t>(packed_bits(packed, static_cast<std::uint64_t>(i), 1)));
      break;
    }
    case PhysicalType::Int32:
      values.integers.reserve(static_cast<std::size_t>(each(4)));
      for (std::int64_t i = 0; i < count; ++i) values.integers.push_back(of_width(in.number<std::int32_t>()));
      break;
    case PhysicalType::Int64:
      values.integers.reserve(static_cast<std::size_t>(each(8)));
      for (std::int64_t i = 0; i < count; ++i) values.integers.push_back(in.number<std::int64_t>());
      break;
    case PhysicalType::Float:
      values.numbers.reserve(static_cast<std::size_t>(each(4)));
      for (std::int64_t i = 0; i < count; ++i) values.numbers.push_back(double{in.number<float>()});
      break;
    case PhysicalType::Double:
      values.numbers.reserve(static_cast<std::size_t>(each(8)));
      for (std::int64_t i = 0; i < count; ++i) values.numbers.push_back(in.number<double>());
      break;
    default:
      values.bytes.reserve(static_cast<std::size_t>(each(column_.stored == PhysicalType::ByteArray ? 4 : 1)));
      for (std::int64_t i = 0; i < count; ++i) {
        const auto size = column_.stored == PhysicalType::ByteArray ? in.number<std::uint32_t>()
                                                                    : static_cast<std::uint32_t>(column_.width);
        const auto bytes = in.take(size);
        values.bytes.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      }
  }
  return values;
}

/// The first bytes of all numbers come first, then the second ones, ...
Values ValueReader::split_streams(Bytes& in, std::int64_t count, std::vector<Page>& pages) const {
  const std::size_t width = column_.stored == PhysicalType::FixedLenByteArray ? static_cast<std::size_t>(column_.width)
                            : column_.stored == PhysicalType::Int32 || column_.stored == PhysicalType::Float ? 4
                                                                                                             : 8;
  const auto n = static_cast<std::size_t>(count);
  if (n > in.rest().size() / width) throw_damaged(file_, "a page ends too early");
  const auto streams = in.take(n * width);
  Page joined{.bytes = {}, .own = std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(n * width, 1))};
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t byte = 0; byte < width; ++byte) joined.own[i * width + byte] = streams[byte * n + i];
  joined.bytes = {joined.own.get(), n * width};
  Bytes bytes(joined.bytes, file_, "a page");
  pages.push_back(std::move(joined));
  return plain(bytes, count);
}

Values ValueReader::by_dictionary(Bytes& in, std::int64_t count) const {
  Values values;
  if (count == 0) return values;
  const int width = in.byte();
  const auto look_up = [&](const auto& known, auto& found) {
    read_runs(in, width, count, [&](std::uint64_t index) {
      if (index >= known.size())
        throw_damaged(file_, "entry ", index, " of a dictionary of ", dictionary_size_, " in '", shown(column_.name),
                      "'");
      found.push_back(known[index]);
    });
  };
  switch (column_.kind()) {
    case Kind::Numbers: look_up(dictionary_.numbers, values.numbers); break;
    case Kind::Bytes: look_up(dictionary_.bytes, values.bytes); break;
    default: look_up(dictionary_.integers, values.integers);
  }
  return values;
}

}  // namespace kiln::parquet
