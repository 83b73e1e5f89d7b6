// The source of a SqliteTable: a database by libsqlite3; none in a build without it.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kiln/data/table/sqlite.hpp"

namespace kiln {

struct SqliteTable::Source {
  std::string name;  // for error messages: "pictures.db: train"
  std::vector<std::string> columns;
  std::vector<std::int64_t> rows;  // ROWIDs, ascending

  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;
  /// `index` is in range; may be called from several threads.
  virtual std::vector<SqliteCell> read(std::int64_t index) const = 0;
  /// The rows at these indices by one connection, in one transaction; `at` is the position of the row in progress.
  virtual std::vector<std::vector<SqliteCell>> read(std::span<const std::int64_t> indices, std::size_t& at) const = 0;
};

std::shared_ptr<const SqliteTable::Source> open_sqlite(const std::string& path, const std::string& table);

}  // namespace kiln
