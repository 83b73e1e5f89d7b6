// Writes databases by libsqlite3.
#include <filesystem>
#include <optional>
#include <utility>

#include <sqlite3.h>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/data/table/sqlite_library.hpp"
#include "kiln/data/table/sqlite_writer.hpp"
#include "kiln/data/text/unicode.hpp"

namespace kiln::sqlite {
namespace {

namespace fs = std::filesystem;

bool is_empty(const std::string& name, sqlite3* database) {
  const Statement any = prepared(name, database, "SELECT 1 FROM sqlite_master LIMIT 1");
  return !step(name, database, any.get());
}

/// Was the file removed or replaced since it was opened?
bool has_moved(sqlite3* database) {
  int moved = 0;
  return library().file_control(database, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0;
}

/// The file of a database that this writer has made: removed again unless it is kept. The database outlives this.
class NewFile {
 public:
  NewFile() = default;
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (!database_) return;
    try {
      // Undone first: SQLite would remove its journal later by name, and then it could be another writer's.
      library().exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
      run(path_, database_, "PRAGMA busy_timeout=0");
      // Removed while the lock is held, and only if no other writer was faster.
      run(path_, database_, "BEGIN IMMEDIATE");
      std::error_code ignored;
      if (!has_moved(database_) && is_empty(path_, database_)) fs::remove(path_, ignored);
    } catch (...) {  // another writer has it now
    }
  }
  void remove_later(const std::string& path, sqlite3* database) {
    path_ = path;
    database_ = database;
  }
  void keep() { database_ = nullptr; }

 private:
  std::string path_;
  sqlite3* database_ = nullptr;  // none: the file stays
};

Database open_for_writing(const std::string& path) {
  const Library& sqlite = library();
  require<IoError>(sqlite.problem.empty(), path, ": cannot be written as a database: ", sqlite.problem);
  sqlite3* opened = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite.open(path.c_str(), &opened, flags, nullptr);
  Database database(opened);
  if (code != SQLITE_OK) throw_problem(path, database.get(), code);
  run(path, database.get(), kWait);
  run(path, database.get(), "PRAGMA trusted_schema=OFF");
  return database;
}

/// Why the table cannot have that name; empty if it can.
std::string problem_of_name(const std::string& table) {
  if (table.empty()) return "a table needs a name";
  if (table.find('\0') != table.npos || unicode::repaired(table) != table)
    return "a table's name is UTF-8 without a zero";
  std::string lower;
  for (const char c : table.substr(0, 7)) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (lower == "sqlite_") return "SQLite keeps names that begin with sqlite_ for itself";
  return "";
}

/// The kind of what has that name, "table", "view" or "index"; nothing if there is none.
std::optional<std::string> kind_of(const std::string& name, sqlite3* database, const std::string& table) {
  const Statement kind =
      prepared(name, database, "SELECT type FROM sqlite_master WHERE name = ?1 COLLATE NOCASE AND type <> 'trigger'");
  library().bind_text(kind.get(), 1, table.c_str(), static_cast<int>(table.size()), SQLITE_STATIC);
  if (!step(name, database, kind.get())) return std::nullopt;
  const auto* const word = static_cast<const char*>(library().column_blob(kind.get(), 0));
  return std::string(word, static_cast<std::size_t>(library().column_bytes(kind.get(), 0)));
}

std::string create_command(const std::string& table, const std::vector<ColumnType>& columns) {
  std::string command = text("CREATE TABLE ", quoted(table), " (");
  for (std::size_t i = 0; i < columns.size(); ++i)
    command += text(i == 0 ? "" : ", ", quoted(columns[i].name), ' ', columns[i].type,
                    columns[i].may_be_null ? "" : " NOT NULL");
  return command + ")";
}

std::string insert_command(const std::string& table, const std::vector<ColumnType>& columns) {
  std::string names, values;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    names += text(i == 0 ? "" : ", ", quoted(columns[i].name));
    values += text(i == 0 ? "?" : ", ?", i + 1);
  }
  return text("INSERT INTO ", quoted(table), " (", names, ") VALUES (", values, ")");
}

}  // namespace

struct CellWriter::Sink {
  std::string name;                  // for error messages: "pictures.db: train"
  std::vector<std::string> columns;  // their names
  Database database;
  NewFile file;  // goes before the database does, and after the statement
  Statement insert;
  std::int64_t rows = 0;
  bool failed = false, committed = false;

  Sink(const std::string& path, const std::string& table, const std::vector<ColumnType>& types,
       const SqliteWriteOptions& options)
      : name(text(path, ": ", shown(table))) {
    const std::string problem = problem_of_name(table);
    require<ArgumentError>(problem.empty(), path, ": '", shown(table), "': ", problem);
    for (const ColumnType& type : types) {
      require<ArgumentError>(type.name != "_rowid_", name,
                             ": a column _rowid_ would hide SQLite's own: rename the field");
      columns.push_back(type.name);
    }
    std::error_code ignored;
    const bool is_new = !fs::exists(fs::symlink_status(path, ignored));
    database = open_for_writing(path);
    // Another writer is refused from here on; what is written becomes visible by COMMIT alone.
    run(name, database.get(), "BEGIN IMMEDIATE");
    require<IoError>(!has_moved(database.get()), name, ": the file was removed meanwhile: try again");
    if (is_new && is_empty(name, database.get())) file.remove_later(path, database.get());
    const auto kind = kind_of(name, database.get(), table);
    require<DataError>(!kind || *kind == "table", name, ": there is already a ", kind ? *kind : "", " of that name");
    require<DataError>(!kind || options.existing != ExistingTable::Refuse, name,
                       ": the table exists: choose another name, or ExistingTable::Append or Replace");
    if (kind && options.existing == ExistingTable::Replace) run(name, database.get(), "DROP TABLE " + quoted(table));
    if (!kind || options.existing == ExistingTable::Replace) run(name, database.get(), create_command(table, types));
    insert = prepared(name, database.get(), insert_command(table, types));
  }

  void bind(int column, const SqliteCell& cell) {
    const Library& sqlite = library();
    int code = SQLITE_OK;
    if (const auto* const whole = std::get_if<std::int64_t>(&cell)) {
      code = sqlite.bind_int64(insert.get(), column, *whole);
    } else if (const auto* const real = std::get_if<double>(&cell)) {
      code = sqlite.bind_double(insert.get(), column, *real);
    } else if (const auto* const letters = std::get_if<std::string>(&cell)) {
      require<DataError>(letters->find('\0') == letters->npos && unicode::repaired(*letters) == *letters, place(),
                         ": column '", columns[static_cast<std::size_t>(column) - 1], "': '", shown(*letters),
                         "' is not UTF-8, or has a zero in it: write it as bytes");
      require<DataError>(std::in_range<int>(letters->size()), place(), ": a text of ", letters->size(),
                         " bytes is longer than SQLite's");
      code = sqlite.bind_text(insert.get(), column, letters->c_str(), static_cast<int>(letters->size()), SQLITE_STATIC);
    } else if (const auto* const bytes = std::get_if<std::vector<std::byte>>(&cell)) {
      // A null pointer would be NULL, and an empty list has one.
      code = sqlite.bind_blob(insert.get(), column, bytes->empty() ? "" : static_cast<const void*>(bytes->data()),
                              bytes->size(), SQLITE_STATIC);
    } else {
      code = sqlite.bind_null(insert.get(), column);
    }
    if (code != SQLITE_OK) throw_problem(place(), database.get(), code);
  }

  std::string place() const { return text(name, ", row ", rows, " of those written"); }
};

CellWriter::CellWriter(const std::string& path, const std::string& table, const std::vector<ColumnType>& columns,
                       const SqliteWriteOptions& options) try
    : sink_(std::make_unique<Sink>(path, table, columns, options)) {
} catch (...) { rethrow_as_memory_error(path); }
CellWriter::~CellWriter() = default;

void CellWriter::refuse(std::string_view problem) {
  sink_->failed = true;
  fail<DataError>(sink_->place(), ": ", problem);
}

void CellWriter::add(std::span<const SqliteCell> cells) {
  Sink& sink = *sink_;
  require<ArgumentError>(!sink.failed && !sink.committed, sink.name, ": the writer ",
                         sink.failed ? "failed before: begin again with another" : "has committed: open another");
  sink.failed = true;  // until the row is in: a row that was refused must not be missing silently
  for (std::size_t i = 0; i < cells.size(); ++i) sink.bind(static_cast<int>(i) + 1, cells[i]);
  const int code = library().step(sink.insert.get());
  if (code != SQLITE_DONE) throw_problem(sink.place(), sink.database.get(), code);
  library().reset(sink.insert.get());
  ++sink.rows;
  sink.failed = false;
}

void CellWriter::commit() {
  Sink& sink = *sink_;
  require<ArgumentError>(!sink.failed && !sink.committed, sink.name, ": the writer ",
                         sink.failed ? "failed before: nothing is committed" : "has committed already");
  sink.failed = true;
  const int code = library().exec(sink.database.get(), "COMMIT", nullptr, nullptr, nullptr);
  sink.failed = code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY;  // after BUSY the transaction is still there
  if (code != SQLITE_OK) throw_problem(sink.name, sink.database.get(), code);
  sink.committed = true;
  sink.file.keep();
}

}  // namespace kiln::sqlite
