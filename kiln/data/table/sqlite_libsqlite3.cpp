// Reads databases by libsqlite3, which is opened with the first one.
#include <algorithm>
#include <filesystem>
#include <mutex>

#include <sqlite3.h>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/data/table/sqlite_library.hpp"
#include "kiln/data/table/sqlite_source.hpp"

namespace kiln {
namespace {

using namespace sqlite;

Database open_database(const std::string& path) {
  const Library& sqlite = library();
  require<IoError>(sqlite.problem.empty(), path, ": cannot be read as a database: ", sqlite.problem);
  std::error_code ignored;
  require<IoError>(std::filesystem::exists(path, ignored), path, ": there is no such file");
  sqlite3* opened = nullptr;
  // Each connection is only used by one thread at a time.
  const int code = sqlite.open(path.c_str(), &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(opened);
  if (code != SQLITE_OK) throw_problem(path, database.get(), code);
  // A database is untrusted data: its schema must not run code, and pages are checked before they are used.
  for (const char* const pragma :
       {kWait, "PRAGMA trusted_schema=OFF", "PRAGMA cell_size_check=ON", "PRAGMA query_only=ON"})
    run(path, database.get(), pragma);
  // No text or blob is longer than the file, unless a column is generated: zeroblob(1000000000) takes a few bytes.
  constexpr std::uintmax_t kOfAny = 1 << 20, kMost = 1'000'000'000;
  const std::uintmax_t size = std::filesystem::file_size(path, ignored);
  sqlite.limit(database.get(), SQLITE_LIMIT_LENGTH,
               static_cast<int>(ignored ? kMost : std::clamp(size, kOfAny, kMost)));
  return database;
}

SqliteCell cell_of(sqlite3_stmt* statement, int column) {
  const Library& sqlite = library();
  const int type = sqlite.column_type(statement, column);
  if (type == SQLITE_INTEGER) return std::int64_t{sqlite.column_int64(statement, column)};
  if (type == SQLITE_FLOAT) return sqlite.column_double(statement, column);
  if (type == SQLITE_NULL) return nullptr;
  const auto* const bytes = static_cast<const std::byte*>(sqlite.column_blob(statement, column));
  const auto count = static_cast<std::size_t>(sqlite.column_bytes(statement, column));
  if (type == SQLITE_BLOB) return std::vector<std::byte>(bytes, bytes + count);
  return std::string(reinterpret_cast<const char*>(bytes), count);
}

struct OpenTable final : SqliteTable::Source {
  std::string path, query;

  struct Connection {
    Database database;
    Statement row;
  };
  mutable std::mutex mutex;
  mutable std::vector<Connection> idle;

  std::vector<SqliteCell> read(std::int64_t index) const override {
    Connection connection = take();
    std::vector<SqliteCell> cells = read(connection, index);
    give_back(std::move(connection));
    return cells;
  }

  std::vector<std::vector<SqliteCell>> read(std::span<const std::int64_t> indices, std::size_t& at) const override {
    Connection connection = take();
    std::vector<std::vector<SqliteCell>> found(indices.size());
    // One transaction locks the file once; rows beside each other are often on one page.
    run(name, connection.database.get(), "BEGIN");
    for (const std::size_t position : in_ascending_order(indices)) {
      at = position;
      found[at] = read(connection, indices[at]);
    }
    run(name, connection.database.get(), "COMMIT");
    give_back(std::move(connection));
    return found;
  }

  std::vector<SqliteCell> read(const Connection& connection, std::int64_t index) const {
    const std::int64_t row = rows[static_cast<std::size_t>(index)];
    library().bind_int64(connection.row.get(), 1, row);
    if (!step(name, connection.database.get(), connection.row.get()))
      fail<DataError>(name, ": row ", row, " no longer exists");
    std::vector<SqliteCell> cells;
    for (int i = 0; i < static_cast<int>(columns.size()); ++i) cells.push_back(cell_of(connection.row.get(), i));
    library().reset(connection.row.get());
    return cells;
  }

  void give_back(Connection connection) const {
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(connection));
  }

  Connection take() const {
    {
      const std::lock_guard lock(mutex);
      if (!idle.empty()) {
        Connection connection = std::move(idle.back());
        idle.pop_back();
        return connection;
      }
    }
    Database database = open_database(path);
    Statement row = prepared(name, database.get(), query);
    return {std::move(database), std::move(row)};
  }
};

}  // namespace

std::shared_ptr<const SqliteTable::Source> open_sqlite(const std::string& path, const std::string& table) {
  const Library& sqlite = library();
  auto source = std::make_shared<OpenTable>();
  source->name = text(path, ": ", shown(table));
  source->path = path;
  source->query = text("SELECT * FROM ", quoted(table), " WHERE _rowid_ = ?1");
  Database database = open_database(path);
  const Statement kind = prepared(path, database.get(), "SELECT type FROM sqlite_master WHERE name = ?1");
  sqlite.bind_text(kind.get(), 1, table.c_str(), static_cast<int>(table.size()), SQLITE_STATIC);
  if (!step(path, database.get(), kind.get())) fail<DataError>(path, ": has no table '", shown(table), "'");
  const SqliteCell type = cell_of(kind.get(), 0);
  require<DataError>(type == SqliteCell("table"), path, ": '", shown(table), "' is no table, but ",
                     sqlite::described(type));
  // Reads the table itself in order, rather than an index; a damaged tree may lead back to earlier rows.
  const Statement rows = prepared(source->name, database.get(),
                                  text("SELECT _rowid_ FROM ", quoted(table), " NOT INDEXED ORDER BY _rowid_"));
  while (step(source->name, database.get(), rows.get())) {
    const std::int64_t row = sqlite.column_int64(rows.get(), 0);
    require<DataError>(source->rows.empty() || row > source->rows.back(), source->name, ": is damaged: row ", row,
                       " comes after row ", source->rows.empty() ? 0 : source->rows.back());
    source->rows.push_back(row);
  }
  Statement row = prepared(source->name, database.get(), source->query);
  for (int i = 0; i < sqlite.column_count(row.get()); ++i)
    source->columns.emplace_back(sqlite.column_name(row.get(), i));
  source->idle.push_back({std::move(database), std::move(row)});
  return source;
}

}  // namespace kiln
