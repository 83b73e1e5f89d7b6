// Writes structs as the rows of a table of an SQLite database: all of them or none.
//
//   write_sqlite(pictures, "pictures.db", "train");            // a data set of structs
//
//   SqliteWriter<Stored> writer("pictures.db", "train");       // or row by row
//   for (...) writer.add({jpeg, label, caption});
//   writer.commit();
#pragma once
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/data/table/sqlite.hpp"

namespace kiln {

enum class ExistingTable { Refuse, Append, Replace };

struct SqliteWriteOptions {
  ExistingTable existing = ExistingTable::Refuse;  // what becomes of a table of that name
};

namespace sqlite {

struct ColumnType {
  std::string name;
  std::string_view type;  // INTEGER, REAL, TEXT or BLOB
  bool may_be_null = false;
};

/// Rows of cells on their way into a table, in one transaction.
class CellWriter {
 public:
  /// See SqliteWriter.
  CellWriter(const std::string& path, const std::string& table, const std::vector<ColumnType>& columns,
             const SqliteWriteOptions& options);
  CellWriter(const CellWriter&) = delete;
  CellWriter& operator=(const CellWriter&) = delete;
  ~CellWriter();

  /// One cell for each column.
  void add(std::span<const SqliteCell> cells);
  void commit();
  /// Throws a DataError that begins with "pictures.db: train, row 17 of those written: ", counted from 0.
  [[noreturn]] void refuse(std::string_view problem);

  struct Sink;

 private:
  std::unique_ptr<Sink> sink_;
};

template <class T>
constexpr std::string_view column_type() {
  if constexpr (reflect::OptionalLike<T>) return column_type<typename T::value_type>();
  else if constexpr (std::same_as<T, std::string> || reflect::ScopedEnum<T>) return "TEXT";
  else if constexpr (Bytes<T>) return "BLOB";
  else if constexpr (std::floating_point<T>) return "REAL";
  else {
    static_assert(std::integral<T>, "a field of this type is not written to a column");
    return "INTEGER";
  }
}

/// Makes the cell that read_cell() reads as `value`, or returns why there is none; empty if there is.
template <class T>
std::string write_cell(const T& value, SqliteCell& cell) {
  if constexpr (reflect::OptionalLike<T>) {
    cell = nullptr;
    return value ? write_cell(*value, cell) : "";
  } else if constexpr (std::same_as<T, std::string>) {
    cell = value;
  } else if constexpr (Bytes<T>) {
    const auto bytes = std::as_bytes(std::span(value));
    cell = std::vector<std::byte>(bytes.begin(), bytes.end());
  } else if constexpr (reflect::ScopedEnum<T>) {
    for (const auto& [enumerator, name] : reflect::enumerators<T>())
      if (enumerator == value) return cell = std::string(name), "";
    return text("has no name among those of ", reflect::type_name<T>());
  } else if constexpr (std::floating_point<T>) {
    if (std::isnan(value)) return "is NaN, which SQLite would store as NULL: make the field a std::optional";
    cell = static_cast<double>(value);
  } else {
    if constexpr (!std::same_as<T, bool>)
      if (!std::in_range<std::int64_t>(value)) return text("is ", value, ", and SQLite's integers end at 2^63 - 1");
    cell = static_cast<std::int64_t>(value);
  }
  return "";
}

}  // namespace sqlite

/// Writes rows into a table whose columns are the fields of Row: numbers, bool, texts (UTF-8 without a zero), blobs
/// (lists of std::byte or std::uint8_t), enums (by name) and optionals of these. SQLite
/// keeps no sign of a zero. Other columns are NOT NULL.
/// sqlite_rows<Row>() reads what was written, in the same order. Nothing is in the database before commit(); a writer
/// that ends without it leaves the file as it was, or no file if there was none. Used by one thread at a time. Rows must
/// not come from the file that is written: whoever reads it can keep commit() waiting.
template <class Row>
class SqliteWriter {
 public:
  /// Creates the database and the table if needed; other tables stay. Throws DataError if the table exists (unless
  /// options say otherwise) or, for Append, lacks a column; IoError if the file cannot be written, another program
  /// writes to it for more than 3 s, or there is no libsqlite3; ArgumentError for a name that SQLite keeps for itself.
  explicit SqliteWriter(const std::string& path, const std::string& table, const SqliteWriteOptions& options = {})
      : writer_(path, table, columns(), options) {}

  /// Throws DataError for a value that a database cannot hold, and IoError; the writer is then of no more use.
  void add(const Row& row) {
    or_memory_error("a table", [&] {
      std::size_t field = 0;
      reflect::for_each_field(row, [&](std::string_view name, const auto& value) {
        if (const std::string problem = sqlite::write_cell(value, cells_[field++]); !problem.empty())
          writer_.refuse(text("field '", name, "' ", problem));
      });
      writer_.add(cells_);
    });
  }

  /// Puts all rows into the database at once. Throws IoError, and the database is as it was before; if it was in use
  /// for more than 3 s, commit() can be tried again.
  void commit() { writer_.commit(); }

 private:
  static std::vector<sqlite::ColumnType> columns() {
    std::vector<sqlite::ColumnType> columns;
    const Row row{};
    reflect::for_each_field(row, [&]<class T>(std::string_view name, const T&) {
      columns.push_back({std::string(name), sqlite::column_type<T>(), reflect::OptionalLike<T>});
    });
    return columns;
  }

  sqlite::CellWriter writer_;
  std::vector<SqliteCell> cells_ = std::vector<SqliteCell>(reflect::field_names<Row>().size());
};

/// Writes all items of a data set. Throws what SqliteWriter throws, and what reading an item throws; the database is
/// then as it was before. The data set must not be read from the file that is written.
template <DatasetLike D>
void write_sqlite(D dataset, const std::string& path, const std::string& table,
                  const SqliteWriteOptions& options = {}) {
  const auto shared = share(std::move(dataset));
  SqliteWriter<ItemOf<D>> writer(path, table, options);
  for_each_item(*shared, [&](std::int64_t, const auto& row) { writer.add(row); });
  writer.commit();
}

}  // namespace kiln
