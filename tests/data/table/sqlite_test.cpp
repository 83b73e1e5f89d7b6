#include "kiln/data/table/sqlite.hpp"

#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include "tests/data/damaged.hpp"
#include "tests/data/raised.hpp"
#include "tests/data/temporary_directory.hpp"

namespace kiln {
namespace {

using test::raised;

/// A database in which these commands were run.
std::string made_by(const test::TemporaryDirectory& directory, const char* commands) {
  const std::string path = directory.file("t.db");
  std::filesystem::remove(path);
  sqlite3* database = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, commands, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
  sqlite3_close(database);
  return path;
}

constexpr const char* kItems =
    "CREATE TABLE items (label INTEGER, jpeg BLOB, title TEXT, weight REAL, kind TEXT, seen INTEGER);"
    "INSERT INTO items VALUES (3, x'ff00ff', 'a \"cat\"', 0.5, 'Cat', 1), (7, x'', 'dog', 2, 'Dog', 0);"
    "INSERT INTO items VALUES (-1, x'01', NULL, -1e300, 'Dog', 1);"
    "DELETE FROM items WHERE label = 7;"
    "INSERT INTO items (rowid, label, jpeg, kind, weight, seen) VALUES (90, 300, zeroblob(5000), 'Cat', 1, 1);";

enum class Kind { Cat, Dog };
struct Item {
  std::vector<std::uint8_t> jpeg;
  std::int64_t label = 0;
  std::optional<std::string> title;
  double weight = 0;
  Kind kind = Kind::Cat;
  bool seen = false;
};

TEST(Sqlite, ReadsRowsAsCells) {
  const test::TemporaryDirectory directory;
  const SqliteTable table(made_by(directory, kItems), "items");
  EXPECT_EQ(table.size(), 3);
  EXPECT_EQ(table.columns(), (std::vector<std::string>{"label", "jpeg", "title", "weight", "kind", "seen"}));
  const auto cells = table.get(1);
  EXPECT_EQ(std::get<std::int64_t>(cells[0]), -1);
  EXPECT_EQ(std::get<std::vector<std::byte>>(cells[1]), std::vector<std::byte>{std::byte{1}});
  EXPECT_TRUE(std::holds_alternative<std::nullptr_t>(cells[2]));
  EXPECT_EQ(std::get<double>(cells[3]), -1e300);
  EXPECT_EQ(table.place(2), directory.file("t.db") + ": items, row 90");
}

// A column that is generated may be far longer than the file.
TEST(Sqlite, NoCellIsLongerThanTheFile) {
  const test::TemporaryDirectory directory;
  const std::string path = made_by(directory,
                                   "CREATE TABLE t (a INTEGER, b BLOB AS (zeroblob(a)));"
                                   "INSERT INTO t (a) VALUES (1000), (900000000);");
  const SqliteTable table(path, "t");
  EXPECT_EQ(std::get<std::vector<std::byte>>(table.get(0)[1]).size(), 1000u);
  EXPECT_EQ(raised<DataError>([&] { table.get(1); }), path + ": t: string or blob too big");
}

TEST(Sqlite, ReadsRowsAsStructsFromAnyThread) {
  const test::TemporaryDirectory directory;
  const auto items = sqlite_rows<Item>(SqliteTable(made_by(directory, kItems), "items"));
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      for (int again = 0; again < 200; ++again) {
        const Item first = items->get(0), last = items->get(2);
        EXPECT_EQ(first.jpeg, (std::vector<std::uint8_t>{255, 0, 255}));
        EXPECT_EQ(first.title, "a \"cat\"");
        EXPECT_TRUE(first.label == 3 && first.weight == 0.5 && first.kind == Kind::Cat && first.seen);
        EXPECT_EQ(last.jpeg.size(), 5000u);
        EXPECT_TRUE(last.label == 300 && !last.title && last.weight == 1);
      }
    });
  for (auto& thread : threads) thread.join();
}

TEST(Sqlite, ReadsManyRowsAtOnce) {
  const test::TemporaryDirectory directory;
  const SqliteTable table(made_by(directory, kItems), "items");
  const std::vector<std::int64_t> wanted{2, 0, 2, 1};
  const auto cells = table.get_many(wanted);
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(cells[i], table.get(wanted[i])) << i;
  struct Label {
    std::uint8_t label = 0;
  };
  std::size_t at = 0;
  const auto rows = sqlite_rows<Label>(table);
  EXPECT_EQ(raised<DataError>([&] { rows->get_many(std::vector<std::int64_t>{0, 0, 1, 2}, &at); }),
            table.place(1) + ": column 'label': INTEGER -1 is too large or too small a number");
  EXPECT_EQ(at, 2u);
  EXPECT_EQ(rows->get_many(std::vector<std::int64_t>{0, 0})[1].label, 3);
}

template <class T>
struct Labelled {
  T label{};
};
template <class T>
struct Titled {
  T title{};
};

TEST(Sqlite, SaysWhatIsWrong) {
  const test::TemporaryDirectory directory;
  const std::string path = made_by(directory, kItems), place = path + ": items, row ";
  const auto refused = [&]<class Row>(Row, std::int64_t row) {
    return raised<DataError>([&] { sqlite_rows<Row>(SqliteTable(path, "items"))->get(row); }).substr(place.size());
  };
  EXPECT_EQ(refused(Labelled<std::uint8_t>(), 2), "90: column 'label': INTEGER 300 is too large or too small a number");
  EXPECT_EQ(refused(Labelled<std::uint8_t>(), 1), "3: column 'label': INTEGER -1 is too large or too small a number");
  EXPECT_EQ(refused(Labelled<bool>(), 0), "1: column 'label': INTEGER 3 is neither 0 nor 1");
  EXPECT_EQ(refused(Labelled<std::string>(), 0), "1: column 'label': INTEGER 3 is no text");
  EXPECT_EQ(refused(Titled<std::string>(), 1), "3: column 'title': NULL is no text");
  EXPECT_EQ(refused(Titled<double>(), 0), "1: column 'title': TEXT 'a \"cat\"' is no number");
  EXPECT_EQ(refused(Titled<Kind>(), 0), "1: column 'title': TEXT 'a \"cat\"' is no Kind");
  EXPECT_EQ(refused(Titled<std::vector<std::byte>>(), 0), "1: column 'title': TEXT 'a \"cat\"' is no blob");
  struct Wrong {
    int labels;
  };
  EXPECT_EQ(raised<DataError>([&] { sqlite_rows<Wrong>(SqliteTable(path, "items")); }),
            path + ": items: has no column 'labels' (did you mean 'label'?)");
  EXPECT_EQ(raised<DataError>([&] { SqliteTable(path, "it\"ems"); }), path + ": has no table 'it\"ems'");
  const std::string none = directory.file("none.db"), text = directory.write("text.db", std::string(3000, 'x'));
  EXPECT_EQ(raised<IoError>([&] { SqliteTable(none, "items"); }), none + ": there is no such file");
  EXPECT_EQ(raised<DataError>([&] { SqliteTable(text, "items"); }), text + ": file is not a database");
  EXPECT_THROW(SqliteTable(directory.path().string(), "items"), IoError);
  const std::string other =
      made_by(directory, "CREATE TABLE a (x INTEGER PRIMARY KEY) WITHOUT ROWID; CREATE VIEW b AS SELECT 1;");
  EXPECT_EQ(raised<DataError>([&] { SqliteTable(other, "a"); }), other + ": a: no such column: _rowid_");
  EXPECT_EQ(raised<DataError>([&] { SqliteTable(other, "b"); }), other + ": 'b' is no table, but TEXT 'view'");
}

TEST(Sqlite, ReadsOrRefusesDamagedDatabases) {
  const test::TemporaryDirectory directory;
  std::string commands = "PRAGMA page_size=512; CREATE TABLE items (label INTEGER, title TEXT);";
  for (int i = 0; i < 60; ++i) commands += text("INSERT INTO items VALUES (", i, ", '", std::string(30, 'x'), "');");
  const auto sound = read_file(made_by(directory, commands.c_str()));
  const std::string path = text("/dev/shm/kiln-damaged-", ::getpid(), ".db");  // on a disk it takes five times as long
  const int file = ::open(path.c_str(), O_CREAT | O_RDWR, 0600);
  ASSERT_GE(file, 0);
  int read = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    Random random(seed);
    const auto bytes = test::damaged(sound, random);
    ASSERT_EQ(::ftruncate(file, std::ssize(bytes)), 0);
    ASSERT_EQ(::pwrite(file, bytes.data(), bytes.size(), 0), std::ssize(bytes));
    try {
      const SqliteTable table(path, "items");
      for (std::int64_t i = 0; i < table.size(); ++i) table.get(i);
      ++read;
    } catch (const DataError& error) {
      EXPECT_TRUE(error.message().starts_with(path));
      ++refused;
    } catch (const IoError&) { ++refused; }
  }
  ::close(file);
  std::filesystem::remove(path);
  EXPECT_GT(read, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace kiln
