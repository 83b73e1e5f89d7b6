#include "kiln/data/table/sqlite.hpp"

#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/error/suggest.hpp"
#include "kiln/data/table/sqlite_source.hpp"

namespace kiln {

SqliteTable::SqliteTable(const std::string& path, const std::string& table) try : source_(open_sqlite(path, table)) {
} catch (...) { rethrow_as_memory_error(path); }

std::int64_t SqliteTable::size() const { return std::ssize(source_->rows); }

const std::vector<std::string>& SqliteTable::columns() const { return source_->columns; }

std::size_t SqliteTable::column(std::string_view name) const {
  const auto& columns = source_->columns;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i] == name) return i;
  const std::vector<std::string_view> names(columns.begin(), columns.end());
  fail<DataError>(source_->name, ": has no column '", shown(name), "'", did_you_mean(name, names));
}

std::string SqliteTable::place(std::int64_t index) const {
  return text(source_->name, ", row ", source_->rows.at(static_cast<std::size_t>(index)));
}

std::vector<SqliteCell> SqliteTable::item(std::int64_t index) const { return source_->read(index); }

std::vector<std::vector<SqliteCell>> SqliteTable::items(std::span<const std::int64_t> indices, std::size_t& at) const {
  return source_->read(indices, at);
}

std::string sqlite::described(const SqliteCell& cell) {
  if (const auto* const whole = std::get_if<std::int64_t>(&cell)) return text("INTEGER ", *whole);
  if (const auto* const real = std::get_if<double>(&cell)) return text("REAL ", *real);
  if (const auto* const letters = std::get_if<std::string>(&cell)) return text("TEXT '", shown(*letters), "'");
  if (const auto* const bytes = std::get_if<std::vector<std::byte>>(&cell))
    return text("BLOB of ", bytes->size(), " bytes");
  return "NULL";
}

}  // namespace kiln
