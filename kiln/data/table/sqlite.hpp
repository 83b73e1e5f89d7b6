// Tables of SQLite databases as data sets of lists of cells, or of structs whose fields are the columns.
//
//   struct Stored { std::vector<std::byte> jpeg; std::int64_t label = 0; std::optional<std::string> caption; };
//   const auto pictures = sqlite_rows<Stored>(SqliteTable("pictures.db", "train"));
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kiln/core/alternatives.hpp"
#include "kiln/core/reflect/reflect_enum.hpp"
#include "kiln/core/reflect/reflect_values.hpp"
#include "kiln/data/dataset.hpp"

namespace kiln {

/// NULL, INTEGER, REAL, TEXT or BLOB, as stored.
using SqliteCell = Alternatives<std::nullptr_t, std::int64_t, double, std::string, std::vector<std::byte>>;

/// The rows of a table in the order of their ROWID, each read on access; each thread has its own connection. libsqlite3
/// is opened with the first table.
class SqliteTable final : public Dataset<std::vector<SqliteCell>> {
 public:
  /// Throws IoError if the file cannot be opened, or there is no libsqlite3; DataError if it is no database, is
  /// damaged, or the table does not exist, or is WITHOUT ROWID. The file must not change while it is read.
  SqliteTable(const std::string& path, const std::string& table);

  std::int64_t size() const override;
  const std::vector<std::string>& columns() const;
  /// The column of that name. Throws DataError.
  std::size_t column(std::string_view name) const;
  /// The name of a row in error messages, by its ROWID: "pictures.db: train, row 17".
  std::string place(std::int64_t index) const;

  struct Source;

 private:
  std::vector<SqliteCell> item(std::int64_t index) const override;
  std::shared_ptr<const Source> source_;
};

namespace sqlite {

template <class T>
concept Bytes = std::same_as<T, std::vector<std::byte>> || std::same_as<T, std::vector<std::uint8_t>>;

/// Why the cell cannot be read as a T; empty if it can.
template <class T>
std::string read_cell(SqliteCell cell, T& value) {
  const auto take = [&]<class S>(S*, std::string_view wanted) -> std::string {
    S* const stored = std::get_if<S>(&cell);
    if (!stored) return text("is no ", wanted);
    value = static_cast<T>(std::move(*stored));
    return "";
  };
  if constexpr (reflect::OptionalLike<T>) {
    value.reset();
    return std::holds_alternative<std::nullptr_t>(cell) ? "" : read_cell(std::move(cell), value.emplace());
  } else if constexpr (std::same_as<T, std::string>) {
    return take(static_cast<std::string*>(nullptr), "text");
  } else if constexpr (Bytes<T>) {
    const auto* const bytes = std::get_if<std::vector<std::byte>>(&cell);
    if (!bytes) return "is no blob";
    const auto* const first = reinterpret_cast<const typename T::value_type*>(bytes->data());
    value.assign(first, first + bytes->size());
    return "";
  } else if constexpr (reflect::ScopedEnum<T>) {
    if (const auto* const stored = std::get_if<std::string>(&cell))
      for (const auto& [enumerator, name] : reflect::enumerators<T>())
        if (name == *stored) return value = enumerator, "";
    return text("is no ", reflect::type_name<T>());
  } else if constexpr (std::floating_point<T>) {
    if (const auto* const whole = std::get_if<std::int64_t>(&cell)) return value = static_cast<T>(*whole), "";
    return take(static_cast<double*>(nullptr), "number");
  } else {
    static_assert(std::integral<T>, "a column is not read as this type");
    const auto* const whole = std::get_if<std::int64_t>(&cell);
    if (!whole) return "is no whole number";
    if constexpr (std::same_as<T, bool>) {
      if (*whole != 0 && *whole != 1) return "is neither 0 nor 1";
    } else if (!std::in_range<T>(*whole)) {
      return "is too large or too small a number";
    }
    value = static_cast<T>(*whole);
    return "";
  }
}

/// "INTEGER 7", "TEXT 'abc'", "BLOB of 12 bytes"
std::string described(const SqliteCell& cell);

}  // namespace sqlite

/// Each row as a Row, whose fields are numbers, bool, texts, blobs (lists of std::byte or std::uint8_t), enums (by
/// name) and optionals of these, for values that may be NULL.
template <class Row>
class SqliteRows final : public Dataset<Row> {
 public:
  /// Columns without a field in Row are ignored. Throws DataError if one is missing.
  explicit SqliteRows(SqliteTable table) try : table_(std::move(table)) {
    for (const auto field : reflect::field_names<Row>()) columns_.push_back(table_.column(field));
  } catch (...) { rethrow_as_memory_error("a table"); }
  std::int64_t size() const override { return table_.size(); }

 private:
  Row item(std::int64_t index) const override {
    std::vector<SqliteCell> cells = table_.get(index);
    Row row{};
    std::size_t field = 0;
    reflect::for_each_field(row, [&](std::string_view, auto& value) {
      const std::size_t column = columns_[field++];
      if (const std::string problem = sqlite::read_cell(cells[column], value); !problem.empty())
        fail<DataError>(table_.place(index), ": column '", table_.columns()[column],
                        "': ", sqlite::described(cells[column]), " ", problem);
    });
    return row;
  }
  SqliteTable table_;
  std::vector<std::size_t> columns_;
};

/// Rows are read on access; a row that does not fit Row throws a DataError then, with file, row and column.
template <class Row>
DatasetPtr<Row> sqlite_rows(SqliteTable table) {
  return share(SqliteRows<Row>(std::move(table)));
}

}  // namespace kiln
