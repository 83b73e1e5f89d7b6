// libsqlite3, which is opened when the first database is read or written, and what readers and writers do with it.
#pragma once
#include <memory>
#include <string>

#include <sqlite3.h>

namespace kiln::sqlite {

/// The functions of the library that are used.
struct Library {
  decltype(&sqlite3_open_v2) open;
  decltype(&sqlite3_close) close;
  decltype(&sqlite3_exec) exec;
  decltype(&sqlite3_file_control) file_control;
  decltype(&sqlite3_limit) limit;
  decltype(&sqlite3_errmsg) message;
  decltype(&sqlite3_prepare_v2) prepare;
  decltype(&sqlite3_finalize) finalize;
  decltype(&sqlite3_bind_int64) bind_int64;
  decltype(&sqlite3_bind_double) bind_double;
  decltype(&sqlite3_bind_text) bind_text;
  decltype(&sqlite3_bind_blob64) bind_blob;
  decltype(&sqlite3_bind_null) bind_null;
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

  Library();
};
const Library& library();

struct Close {
  void operator()(sqlite3* database) const { library().close(database); }
  void operator()(sqlite3_stmt* statement) const { library().finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, Close>;
using Statement = std::unique_ptr<sqlite3_stmt, Close>;

/// How long a reader or a writer waits for another one.
inline constexpr const char* kWait = "PRAGMA busy_timeout = 3000";  // milliseconds

/// What SQLite's `code` says, after a call that was to read or write `name`.
[[noreturn]] void throw_problem(const std::string& name, sqlite3* database, int code);

/// Runs a command without results.
void run(const std::string& name, sqlite3* database, const std::string& command);

Statement prepared(const std::string& name, sqlite3* database, const std::string& query);

/// Is there another row?
bool step(const std::string& name, sqlite3* database, sqlite3_stmt* statement);

std::string quoted(const std::string& identifier);

}  // namespace kiln::sqlite
