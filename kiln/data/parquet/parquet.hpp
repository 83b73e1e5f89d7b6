// Parquet files, in which Hugging Face's data sets lie among others, as data sets of structs.
//
//   struct Picture { std::vector<std::byte> bytes; std::optional<std::string> path; };
//   struct Labelled { Picture image; std::int64_t label = 0; };
//   const auto train = parquet_split<Labelled>("downloads/cifar10", "train");
//
// A field is the column of its name; the fields of a struct in it are those of a struct in the file, and a std::vector is a
// list, of values or of structs. Snappy, gzip and zstd are unpacked, and all encodings of today's writers read. Not read are
// lists of lists, decimals, and what is compressed otherwise or encrypted.
#pragma once
#include <algorithm>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kiln/core/reflect/reflect_values.hpp"
#include "kiln/data/dataset.hpp"
#include "kiln/data/parquet/chunk.hpp"

namespace kiln {

class ParquetFile {
 public:
  /// Of the rows that were read, columns of whole row groups are kept for the next ones, up to `most_bytes`. Rows of larger
  /// files are read in their order, or by a stream that shuffles (kiln/data/stream): each row at random would unpack a group.
  /// Throws IoError; DataError where the file is none, or damaged.
  explicit ParquetFile(const std::string& path, std::int64_t most_bytes = std::int64_t{1} << 30)
      : ParquetFile(map_file(path), most_bytes) {}
  explicit ParquetFile(FileBytes file, std::int64_t most_bytes = std::int64_t{1} << 30);

  std::int64_t size() const;
  const std::string& name() const;
  const std::vector<parquet::Column>& columns() const;
  /// What its writer said by this key: "huggingface", say. Null where that is nothing.
  const std::string* metadata(std::string_view key) const;
  /// The names of the classes that a column's whole numbers stand for, where Hugging Face's library wrote the file; none
  /// where it does not say.
  std::vector<std::string> classes(std::string_view column) const;

  struct Place {
    std::size_t group = 0, row = 0;
  };
  Place find(std::int64_t index) const;
  /// From any thread. Throws DataError, or IoError without libzstd.
  std::shared_ptr<const parquet::Chunk> chunk(std::size_t column, std::size_t group) const;

 private:
  struct Open;
  std::shared_ptr<Open> open_;
};

namespace parquet {

template <class T>
concept ByteList = std::same_as<T, std::vector<std::byte>> || std::same_as<T, std::vector<std::uint8_t>>;
template <class T>
concept Leaf = std::is_arithmetic_v<T> || std::same_as<T, std::string> || ByteList<T> || reflect::ScopedEnum<T>;
template <class T>
concept OptionalLeaf = reflect::OptionalLike<T> && Leaf<typename T::value_type>;
template <class T>
concept List = reflect::ListLike<T> && !Leaf<T>;

/// What is read of a file: "text", "whole numbers", ...
template <class T>
constexpr std::string_view wanted() {
  if constexpr (reflect::OptionalLike<T>) return wanted<typename T::value_type>();
  else if constexpr (std::same_as<T, bool>) return "truth values";
  else if constexpr (std::integral<T>) return "whole numbers";
  else if constexpr (std::floating_point<T>) return "numbers";
  else return ByteList<T> ? "bytes" : "texts";
}

/// The column of that name, of a list or not. Throws DataError where there is none, or one of another kind.
std::size_t find_column(const ParquetFile& file, std::string_view name, std::string_view wanted, bool list);

template <class T>
void find_columns(const ParquetFile& file, const std::string& name, bool list, std::vector<std::size_t>& columns) {
  if constexpr (Leaf<T> || OptionalLeaf<T>) {
    columns.push_back(find_column(file, name, wanted<T>(), list));
  } else if constexpr (List<T>) {
    find_columns<typename T::value_type>(file, name, true, columns);
  } else if constexpr (reflect::OptionalLike<T>) {
    find_columns<typename T::value_type>(file, name, list, columns);
  } else {
    static_assert(reflect::Aggregate<T>, "a column is not read as this type");
    T fields{};
    reflect::for_each_field(fields, [&]<class F>(std::string_view field, const F&) {
      find_columns<F>(file, name.empty() ? std::string(field) : text(name, '.', field), list, columns);
    });
  }
}

/// What is wrong with an element as a T; empty where nothing is.
template <class T>
std::string read_element(const Chunk& chunk, std::size_t element, T& value) {
  if constexpr (reflect::OptionalLike<T>) {
    value.reset();
    return chunk.is_missing(element) ? "" : read_element(chunk, element, value.emplace());
  } else {
    if (chunk.is_missing(element)) return "is missing (a field that may be is a std::optional)";
    if constexpr (std::floating_point<T>) {
      value =
          static_cast<T>(chunk.numbers.empty() ? static_cast<double>(chunk.wholes[element]) : chunk.numbers[element]);
    } else if constexpr (std::integral<T>) {
      const std::int64_t whole = chunk.wholes[element];
      if constexpr (std::same_as<T, bool>) {
        if (whole != 0 && whole != 1) return text("is neither 0 nor 1: ", whole);
      } else if (!std::in_range<T>(whole)) {
        return text("is too large or too small a number: ", whole);
      }
      value = static_cast<T>(whole);
    } else if constexpr (reflect::ScopedEnum<T>) {
      for (const auto& [enumerator, name] : reflect::enumerators<T>())
        if (name == chunk.bytes[element]) return value = enumerator, "";
      return text("is no ", reflect::type_name<T>());
    } else {
      const auto* const first = reinterpret_cast<const typename T::value_type*>(chunk.bytes[element].data());
      value.assign(first, first + chunk.bytes[element].size());
    }
    return "";
  }
}

/// Reads a row, a column after the other.
class RowReader {
 public:
  RowReader(const ParquetFile& file, const std::vector<std::size_t>& columns, std::int64_t index)
      : file_(file), columns_(columns), index_(index), at_(file.find(index)) {}

  template <class T>
  void read(T& value) {
    if constexpr (Leaf<T> || OptionalLeaf<T>) {
      const auto chunk = next();
      check(read_element(*chunk, at_.row, value));
    } else if constexpr (reflect::OptionalLike<T>) {
      static_assert(List<typename T::value_type>, "a struct that may be missing has fields that may be");
      if (file_.chunk(columns_[next_], at_.group)->no_list[at_.row]) ++next_;
      else read(value.emplace());
    } else if constexpr (List<T>) {
      using Item = typename T::value_type;
      static_assert(Leaf<Item> || OptionalLeaf<Item> || reflect::Aggregate<Item>, "a list is not read as this type");
      if constexpr (Leaf<Item> || OptionalLeaf<Item>) read_list(value, [](Item& item) -> Item& { return item; });
      else read_fields(value);
    } else {
      reflect::for_each_field(value, [&](std::string_view, auto& field) { read(field); });
    }
  }

 private:
  std::shared_ptr<const Chunk> next() { return file_.chunk(columns_[next_++], at_.group); }
  /// Of the column that was read last: throws where there is something wrong.
  void check(const std::string& problem) const {
    if (!problem.empty()) fail_at(problem);
  }
  [[noreturn]] void fail_at(const std::string& problem) const;

  /// A column, whose elements are part(item) of the items.
  template <class Items, class Part>
  void read_list(Items& items, Part&& part) {
    const auto chunk = next();
    if (chunk->no_list[at_.row]) fail_at("is missing (a field that may be is a std::optional)");
    const std::size_t begin = chunk->begins[at_.row], end = chunk->begins[at_.row + 1];
    items.resize(std::max(items.size(), end - begin));
    if (items.size() != end - begin) fail_at(text("has ", end - begin, " items where another has ", items.size()));
    for (std::size_t i = begin; i < end; ++i) {
      std::remove_cvref_t<decltype(part(items[0]))> value{};
      check(read_element(*chunk, i, value));
      part(items[i - begin]) = std::move(value);
    }
  }
  template <class Items>
  void read_fields(Items& items) {
    using Item = typename Items::value_type;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (read_list(items, [](Item& item) -> auto& { return std::get<I>(reflect::fields(item)); }), ...);
    }(std::make_index_sequence<reflect::field_count<Item>>());
  }

  const ParquetFile& file_;
  const std::vector<std::size_t>& columns_;
  const std::int64_t index_;
  const ParquetFile::Place at_;
  std::size_t next_ = 0;
};

/// A file of a split, whose name is it, or in a folder of that name, by names.
std::vector<std::string> files_of(const std::filesystem::path& directory, std::string_view split);

}  // namespace parquet

template <class Row>
class ParquetRows final : public Dataset<Row> {
 public:
  /// Columns that Row has no field for are left out, and not unpacked. Throws DataError where one is missing or of another kind.
  explicit ParquetRows(ParquetFile file) : file_(std::move(file)) {
    parquet::find_columns<Row>(file_, "", false, columns_);
  }
  std::int64_t size() const override { return file_.size(); }

 private:
  Row item(std::int64_t index) const override {
    Row row{};
    parquet::RowReader(file_, columns_, index).read(row);
    return row;
  }
  ParquetFile file_;
  std::vector<std::size_t> columns_;
};

/// Rows that are read when asked for; what is no Row throws a DataError there, with file, row (from 0) and column. Fields are
/// numbers, bool, texts, bytes, enums (by name), structs, lists of these, and optionals of what may be missing.
template <class Row>
DatasetPtr<Row> parquet_rows(ParquetFile file) {
  return share(ParquetRows<Row>(std::move(file)));
}

/// The rows of all files of a split in the directory and the folders in it: `train-00000-of-00002.parquet`, as Hugging Face's
/// library names them, or `train/0000.parquet`, as its servers do. Throws DataError where there are none, where some of those
/// that a name counts are missing, and where files of several folders could be meant.
template <class Row>
DatasetPtr<Row> parquet_split(const std::filesystem::path& directory, std::string_view split) {
  std::vector<DatasetPtr<Row>> parts;
  for (const std::string& path : parquet::files_of(directory, split))
    parts.push_back(parquet_rows<Row>(ParquetFile(path)));
  return share(Concatenated<Row>(std::move(parts)));
}

}  // namespace kiln
