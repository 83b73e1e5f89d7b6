// Replaces sqlite_libsqlite3.cpp in a build without it.
#include "kiln/core/error/error.hpp"
#include "kiln/data/table/sqlite_source.hpp"

namespace kiln {

std::shared_ptr<const SqliteTable::Source> open_sqlite(const std::string& path, const std::string&) {
  fail<IoError>(path, ": cannot be read as a database: this Kiln was built without libsqlite3");
}

}  // namespace kiln
