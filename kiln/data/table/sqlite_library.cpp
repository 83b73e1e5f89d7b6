#include "kiln/data/table/sqlite_library.hpp"

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/system/shared_library.hpp"

namespace kiln::sqlite {

Library::Library() {
  OptionalLibrary opened("libsqlite3", {"libsqlite3.so.0"}, "libsqlite3-0");
  opened.find("sqlite3_open_v2", open);
  opened.find("sqlite3_close", close);
  opened.find("sqlite3_exec", exec);
  opened.find("sqlite3_file_control", file_control);
  opened.find("sqlite3_limit", limit);
  opened.find("sqlite3_errmsg", message);
  opened.find("sqlite3_prepare_v2", prepare);
  opened.find("sqlite3_finalize", finalize);
  opened.find("sqlite3_bind_int64", bind_int64);
  opened.find("sqlite3_bind_double", bind_double);
  opened.find("sqlite3_bind_text", bind_text);
  opened.find("sqlite3_bind_blob64", bind_blob);
  opened.find("sqlite3_bind_null", bind_null);
  opened.find("sqlite3_step", step);
  opened.find("sqlite3_reset", reset);
  opened.find("sqlite3_column_count", column_count);
  opened.find("sqlite3_column_name", column_name);
  opened.find("sqlite3_column_type", column_type);
  opened.find("sqlite3_column_int64", column_int64);
  opened.find("sqlite3_column_double", column_double);
  opened.find("sqlite3_column_blob", column_blob);
  opened.find("sqlite3_column_bytes", column_bytes);
  problem = opened.problem();
}

const Library& library() {
  static const Library opened;
  return opened;
}

void throw_problem(const std::string& name, sqlite3* database, int code) {
  const int kind = code & 0xff;
  const std::string why = shown(library().message(database));
  if (kind == SQLITE_NOMEM) fail<MemoryError>(name, ": no memory for the database");
  if (kind == SQLITE_CANTOPEN || kind == SQLITE_PERM) fail<IoError>(name, ": cannot be opened: ", why);
  if (kind == SQLITE_IOERR || kind == SQLITE_FULL || kind == SQLITE_READONLY)
    fail<IoError>(name, ": cannot be read or written: ", why);
  if (kind == SQLITE_BUSY || kind == SQLITE_LOCKED)
    fail<IoError>(name, ": ", why, ": another program or thread uses it; try again when that is done");
  fail<DataError>(name, ": ", why);
}

void run(const std::string& name, sqlite3* database, const std::string& command) {
  const int code = library().exec(database, command.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw_problem(name, database, code);
}

Statement prepared(const std::string& name, sqlite3* database, const std::string& query) {
  sqlite3_stmt* statement = nullptr;
  const int code = library().prepare(database, query.c_str(), static_cast<int>(query.size()), &statement, nullptr);
  if (code != SQLITE_OK) throw_problem(name, database, code);
  return Statement(statement);
}

/// Is there another row?
bool step(const std::string& name, sqlite3* database, sqlite3_stmt* statement) {
  const int code = library().step(statement);
  if (code != SQLITE_ROW && code != SQLITE_DONE) throw_problem(name, database, code);
  return code == SQLITE_ROW;
}

std::string quoted(const std::string& identifier) {
  std::string quoted = "\"";
  for (const char c : identifier) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

}  // namespace kiln::sqlite
