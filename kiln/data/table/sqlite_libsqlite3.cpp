// Reads databases by libsqlite3, which is opened with the first one.
#include <dlfcn.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <type_traits>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/data/table/sqlite_source.hpp"

namespace kiln {
namespace {

/// The functions of the library that are used.
struct Library {
  decltype(&sqlite3_open_v2) open;
  decltype(&sqlite3_close) close;
  decltype(&sqlite3_exec) exec;
  decltype(&sqlite3_limit) limit;
  decltype(&sqlite3_errmsg) message;
  decltype(&sqlite3_prepare_v2) prepare;
  decltype(&sqlite3_finalize) finalize;
  decltype(&sqlite3_bind_int64) bind_int64;
  decltype(&sqlite3_bind_text) bind_text;
  decltype(&sqlite3_step) step;
  decltype(&sqlite3_reset) reset;
  decltype(&sqlite3_column_count) column_count;
  decltype(&sqlite3_column_name) column_name;
  decltype(&sqlite3_column_type) column_type;
  decltype(&sqlite3_column_int64) column_int64;
  decltype(&sqlite3_column_double) column_double;
  decltype(&sqlite3_column_blob) column_blob;
  decltype(&sqlite3_column_bytes) column_bytes;

  std::string problem;  // why it cannot be used; empty if it can

  Library() {
    void* const handle = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      problem = "this machine has no libsqlite3 (Debian: libsqlite3-0)";
      return;
    }
    const auto find = [&](const char* name, auto& function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
      if (!function) problem = text("this machine's libsqlite3 has no ", name);
    };
    find("sqlite3_open_v2", open);
    find("sqlite3_close", close);
    find("sqlite3_exec", exec);
    find("sqlite3_limit", limit);
    find("sqlite3_errmsg", message);
    find("sqlite3_prepare_v2", prepare);
    find("sqlite3_finalize", finalize);
    find("sqlite3_bind_int64", bind_int64);
    find("sqlite3_bind_text", bind_text);
    find("sqlite3_step", step);
    find("sqlite3_reset", reset);
    find("sqlite3_column_count", column_count);
    find("sqlite3_column_name", column_name);
    find("sqlite3_column_type", column_type);
    find("sqlite3_column_int64", column_int64);
    find("sqlite3_column_double", column_double);
    find("sqlite3_column_blob", column_blob);
    find("sqlite3_column_bytes", column_bytes);
  }
};
const Library& library() {
  static const Library opened;
  return opened;
}

struct Close {
  void operator()(sqlite3* database) const { library().close(database); }
  void operator()(sqlite3_stmt* statement) const { library().finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, Close>;
using Statement = std::unique_ptr<sqlite3_stmt, Close>;

[[noreturn]] void throw_damaged(const std::string& name, sqlite3* database, int code) {
  const int kind = code & 0xff;
  if (kind == SQLITE_NOMEM) fail<MemoryError>(name, ": no memory to read the database");
  if (kind == SQLITE_CANTOPEN || kind == SQLITE_IOERR || kind == SQLITE_BUSY || kind == SQLITE_PERM)
    fail<IoError>(name, ": cannot be read: ", library().message(database));
  fail<DataError>(name, ": ", shown(library().message(database)));
}

Database open_database(const std::string& path) {
  const Library& sqlite = library();
  require<IoError>(sqlite.problem.empty(), path, ": cannot be read as a database: ", sqlite.problem);
  std::error_code ignored;
  require<IoError>(std::filesystem::exists(path, ignored), path, ": there is no such file");
  sqlite3* opened = nullptr;
  // Each connection is only used by one thread at a time.
  const int code = sqlite.open(path.c_str(), &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(opened);
  if (code != SQLITE_OK) throw_damaged(path, database.get(), code);
  // A database is untrusted data: its schema must not run code, and pages are checked before they are used.
  for (const char* const pragma : {"PRAGMA trusted_schema=OFF", "PRAGMA cell_size_check=ON", "PRAGMA query_only=ON"})
    if (const int result = sqlite.exec(database.get(), pragma, nullptr, nullptr, nullptr); result != SQLITE_OK)
      throw_damaged(path, database.get(), result);
  // No text or blob is longer than the file, unless a column is generated: zeroblob(1000000000) takes a few bytes.
  constexpr std::uintmax_t kOfAny = 1 << 20, kMost = 1'000'000'000;
  const std::uintmax_t size = std::filesystem::file_size(path, ignored);
  sqlite.limit(database.get(), SQLITE_LIMIT_LENGTH,
               static_cast<int>(ignored ? kMost : std::clamp(size, kOfAny, kMost)));
  return database;
}

Statement prepared(const std::string& name, sqlite3* database, const std::string& query) {
  sqlite3_stmt* statement = nullptr;
  const int code = library().prepare(database, query.c_str(), static_cast<int>(query.size()), &statement, nullptr);
  if (code != SQLITE_OK) throw_damaged(name, database, code);
  return Statement(statement);
}

/// Is there another row?
bool step(const std::string& name, sqlite3* database, sqlite3_stmt* statement) {
  const int code = library().step(statement);
  if (code != SQLITE_ROW && code != SQLITE_DONE) throw_damaged(name, database, code);
  return code == SQLITE_ROW;
}

std::string quoted(const std::string& identifier) {
  std::string quoted = "\"";
  for (const char c : identifier) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
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
    const std::int64_t row = rows[static_cast<std::size_t>(index)];
    library().bind_int64(connection.row.get(), 1, row);
    if (!step(name, connection.database.get(), connection.row.get()))
      fail<DataError>(name, ": row ", row, " no longer exists");
    std::vector<SqliteCell> cells;
    for (int i = 0; i < static_cast<int>(columns.size()); ++i) cells.push_back(cell_of(connection.row.get(), i));
    library().reset(connection.row.get());
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(connection));
    return cells;
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
