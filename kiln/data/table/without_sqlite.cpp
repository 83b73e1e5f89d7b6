// Replaces sqlite_libsqlite3.cpp and sqlite_write_libsqlite3.cpp in a build without it.
#include "kiln/core/error/error.hpp"
#include "kiln/data/table/sqlite_source.hpp"
#include "kiln/data/table/sqlite_writer.hpp"

namespace kiln {

std::shared_ptr<const SqliteTable::Source> open_sqlite(const std::string& path, const std::string&) {
  fail<IoError>(path, ": cannot be read as a database: this Kiln was built without libsqlite3");
}

struct sqlite::CellWriter::Sink {};
sqlite::CellWriter::CellWriter(const std::string& path, const std::string&, const std::vector<ColumnType>&,
                               const SqliteWriteOptions&) {
  fail<IoError>(path, ": cannot be written as a database: this Kiln was built without libsqlite3");
}
sqlite::CellWriter::~CellWriter() = default;
void sqlite::CellWriter::add(std::span<const SqliteCell>) {}
void sqlite::CellWriter::commit() {}
void sqlite::CellWriter::refuse(std::string_view problem) { fail<DataError>(problem); }

}  // namespace kiln
