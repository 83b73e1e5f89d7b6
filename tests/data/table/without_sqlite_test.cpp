// Linked with kiln/data/table/without_sqlite.cpp, as builds on machines without libsqlite3 are.
#include <gtest/gtest.h>

#include "kiln/data/table/sqlite.hpp"
#include "kiln/data/table/sqlite_writer.hpp"

#include "tests/data/raised.hpp"

namespace kiln {
namespace {

TEST(SqliteWithoutItsLibrary, SaysSo) {
  EXPECT_EQ(test::raised<IoError>([] { SqliteTable("a.db", "train"); }),
            "a.db: cannot be read as a database: this Kiln was built without libsqlite3");
  struct Row {
    int a = 0;
  };
  EXPECT_EQ(test::raised<IoError>([] { SqliteWriter<Row>("a.db", "train"); }),
            "a.db: cannot be written as a database: this Kiln was built without libsqlite3");
}

}  // namespace
}  // namespace kiln
