#include "kiln/data/table/sqlite_writer.hpp"

#include <cmath>
#include <csignal>
#include <limits>
#include <thread>

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include "tests/data/raised.hpp"
#include "tests/data/temporary_directory.hpp"

namespace kiln {
namespace {

using test::raised;

enum class Kind { Cat, Dog };
struct Item {
  std::vector<std::uint8_t> jpeg;
  std::int64_t label = 0;
  std::optional<std::string> title;
  double weight = 0;
  float share = 0;
  Kind kind = Kind::Cat;
  bool seen = false;
  std::optional<std::vector<std::byte>> more;
  friend bool operator==(const Item&, const Item&) = default;
};

std::vector<Item> some_items() {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max(), kLeast = std::numeric_limits<std::int64_t>::min();
  return {
      {{255, 0, 255}, 3, "a \"cat\" \xc3\xa9", 0.1, 0.1f, Kind::Cat, true, std::nullopt},
      {{}, kMost, std::nullopt, -1e300, -0.0f, Kind::Dog, false, std::vector<std::byte>{}},
      {{0}, kLeast, "", std::numeric_limits<double>::infinity(), 1e-45f, Kind::Dog, true, std::vector{std::byte{7}}}};
}

/// What a query gives: its cells as texts, separated by '|', a row a line.
std::string asked(const std::string& path, const char* query) {
  sqlite3* database = nullptr;
  std::string answer;
  EXPECT_EQ(sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  const auto collect = [](void* to, int count, char** cells, char**) {
    for (int i = 0; i < count; ++i) *static_cast<std::string*>(to) += text(i ? "|" : "", cells[i] ? cells[i] : "NULL");
    *static_cast<std::string*>(to) += '\n';
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(database, query, collect, &answer, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
  sqlite3_close(database);
  return answer;
}

TEST(SqliteWriter, WritesWhatIsReadBack) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.file("t.db");
  const auto items = some_items();
  write_sqlite(in_memory(items), path, "it\"ems");
  const auto read = sqlite_rows<Item>(SqliteTable(path, "it\"ems"));
  ASSERT_EQ(read->size(), 3);
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(read->get(i), items[static_cast<std::size_t>(i)]) << i;
  // By SQLite's own words.
  EXPECT_EQ(asked(path,
                  "SELECT typeof(jpeg), hex(jpeg), label, typeof(title), typeof(weight), kind, seen, typeof(more) "
                  "FROM \"it\"\"ems\""),
            "blob|FF00FF|3|text|real|Cat|1|null\n"
            "blob||9223372036854775807|null|real|Dog|0|blob\n"
            "blob|00|-9223372036854775808|text|real|Dog|1|blob\n");
  EXPECT_EQ(
      asked(path, "SELECT sql FROM sqlite_master"),
      "CREATE TABLE \"it\"\"ems\" (\"jpeg\" BLOB NOT NULL, \"label\" INTEGER NOT NULL, \"title\" TEXT, \"weight\" REAL "
      "NOT NULL, \"share\" REAL NOT NULL, \"kind\" TEXT NOT NULL, \"seen\" INTEGER NOT NULL, \"more\" BLOB)\n");
  EXPECT_EQ(asked(path, "PRAGMA integrity_check"), "ok\n");
}

struct Number {
  std::int64_t n = 0;
};

std::vector<Number> numbers(std::int64_t count) {
  std::vector<Number> rows;
  for (std::int64_t i = 0; i < count; ++i) rows.push_back({i});
  return rows;
}

TEST(SqliteWriter, WritesAllOrNothing) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.file("t.db"), journal = path + "-journal";
  {
    SqliteWriter<Number> writer(path, "a");
    writer.add({1});
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(journal));

  SqliteWriter<Number> writer(path, "a");
  writer.add({1});
  writer.add({2});
  EXPECT_EQ(asked(path, "SELECT count(*) FROM sqlite_master"), "0\n");
  writer.commit();
  EXPECT_EQ(asked(path, "SELECT n FROM a"), "1\n2\n");
  EXPECT_EQ(raised<ArgumentError>([&] { writer.add({3}); }), path + ": a: the writer has committed: open another");
  EXPECT_EQ(raised<ArgumentError>([&] { writer.commit(); }), path + ": a: the writer has committed already");

  // An item that cannot be read undoes the table that was to be replaced, too.
  const auto broken = mapped(in_memory(numbers(700)), [](Number row) {
    require<DataError>(row.n != 650, "damaged");
    return row;
  });
  EXPECT_THROW(write_sqlite(broken, path, "a", {.existing = ExistingTable::Replace}), DataError);
  EXPECT_THROW(write_sqlite(broken, path, "b"), DataError);
  EXPECT_EQ(asked(path, "SELECT n FROM a"), "1\n2\n");
  EXPECT_EQ(asked(path, "SELECT name FROM sqlite_master"), "a\n");
  EXPECT_FALSE(std::filesystem::exists(journal));
}

TEST(SqliteWriter, AppendsOrReplacesWhereAsked) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.file("t.db");
  write_sqlite(in_memory(numbers(2)), path, "a");
  write_sqlite(in_memory(numbers(1)), path, "b");
  EXPECT_EQ(raised<DataError>([&] { write_sqlite(in_memory(numbers(1)), path, "A"); }),
            path + ": A: the table exists: choose another name, or ExistingTable::Append or Replace");
  write_sqlite(in_memory(numbers(3)), path, "a", {.existing = ExistingTable::Append});
  EXPECT_EQ(asked(path, "SELECT n FROM a"), "0\n1\n0\n1\n2\n");
  write_sqlite(in_memory(numbers(1)), path, "a", {.existing = ExistingTable::Replace});
  EXPECT_EQ(asked(path, "SELECT n FROM a"), "0\n");
  EXPECT_EQ(asked(path, "SELECT n FROM b"), "0\n");
  struct Other {
    std::int64_t m = 0;
  };
  EXPECT_EQ(raised<DataError>([&] { SqliteWriter<Other>(path, "a", {.existing = ExistingTable::Append}); }),
            path + ": a: table a has no column named m");
}

template <class T>
struct Holding {
  T n{};
};

template <class T>
std::string refused(const std::string& path, T value) {
  SqliteWriter<Holding<T>> writer(path, "new");
  writer.add({});
  const std::string sentence = raised<DataError>([&] { writer.add({value}); });
  EXPECT_EQ(raised<ArgumentError>([&] { writer.commit(); }),
            path + ": new: the writer failed before: nothing is committed");
  const std::string place = path + ": new, row 1 of those written: ";
  EXPECT_TRUE(sentence.starts_with(place)) << sentence;
  return sentence.substr(std::min(place.size(), sentence.size()));
}

TEST(SqliteWriter, RefusesWhatADatabaseCannotHold) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.file("t.db");
  EXPECT_EQ(refused(path, std::nan("")),
            "field 'n' is NaN, which SQLite would store as NULL: make the field a std::optional");
  EXPECT_EQ(refused(path, std::uint64_t{1} << 63),
            "field 'n' is 9223372036854775808, and SQLite's integers end at 2^63 - 1");
  EXPECT_EQ(refused(path, static_cast<Kind>(9)), "field 'n' has no name among those of Kind");
  EXPECT_EQ(refused(path, std::string("a\xff")),
            "column 'n': 'a\\xff' is not UTF-8, or has a zero in it: write it as bytes");
  EXPECT_EQ(refused(path, std::string("a\0b", 3)),
            "column 'n': 'a\\x00b' is not UTF-8, or has a zero in it: write it as bytes");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SqliteWriter, SaysWhatIsWrong) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.file("t.db");
  const auto opened = [](const std::string& path, const std::string& table) { SqliteWriter<Number>(path, table); };
  EXPECT_EQ(raised<ArgumentError>([&] { opened(path, ""); }), path + ": '': a table needs a name");
  EXPECT_EQ(raised<ArgumentError>([&] { opened(path, "SQLite_x"); }),
            path + ": 'SQLite_x': SQLite keeps names that begin with sqlite_ for itself");
  EXPECT_EQ(raised<ArgumentError>([&] { opened(path, std::string("a\0b", 3)); }),
            path + ": 'a\\x00b': a table's name is UTF-8 without a zero");
  struct Hidden {
    int _rowid_ = 0;
  };
  EXPECT_EQ(raised<ArgumentError>([&] { SqliteWriter<Hidden>(path, "a"); }),
            path + ": a: a column _rowid_ would hide SQLite's own: rename the field");
  const std::string nowhere = directory.file("none/t.db"), words = directory.write("text.db", std::string(3000, 'x'));
  EXPECT_EQ(raised<IoError>([&] { opened(nowhere, "a"); }),
            nowhere + ": cannot be opened: unable to open database file");
  EXPECT_EQ(raised<DataError>([&] { opened(words, "a"); }), words + ": a: file is not a database");
  EXPECT_EQ(std::filesystem::file_size(words), 3000u);

  SqliteWriter<Number> first(path, "a");
  EXPECT_EQ(raised<IoError>([&] { opened(path, "b"); }),
            path + ": b: database is locked: another program or thread uses it; try again when that is done");
  first.commit();
  EXPECT_EQ(asked(path, "SELECT name FROM sqlite_master"), "a\n");
}

TEST(SqliteWriter, WaitsForOtherWritersOfANewFile) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.file("t.db");
  {
    std::vector<std::jthread> threads;
    for (const char* table : {"a", "b", "c", "d"})
      threads.emplace_back(
          [&path, table] { EXPECT_NO_THROW(write_sqlite(in_memory(numbers(100)), path, table)) << table; });
  }
  EXPECT_EQ(asked(path, "SELECT name FROM sqlite_master ORDER BY name"), "a\nb\nc\nd\n");
  EXPECT_EQ(asked(path, "SELECT count(*) FROM a"), "100\n");
}

// A limit on files' sizes stands for a full disk.
TEST(SqliteWriter, LeavesTheDatabaseWholeOnAFullDisk) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.file("t.db");
  write_sqlite(in_memory(numbers(10)), path, "a");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{64 * 1024, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto rows = in_memory(std::vector<Holding<std::string>>(200, {std::string(1000, 'x')}));
  const std::string added = raised<IoError>([&] { write_sqlite(rows, path, "b"); });
  const std::string fresh = raised<IoError>([&] { write_sqlite(rows, directory.file("new.db"), "b"); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(added.starts_with(path + ": ")) << added;
  EXPECT_FALSE(fresh.empty());
  EXPECT_FALSE(std::filesystem::exists(directory.file("new.db")));
  EXPECT_EQ(asked(path, "SELECT count(*) FROM a"), "10\n");
  EXPECT_EQ(asked(path, "SELECT name FROM sqlite_master"), "a\n");
}

}  // namespace
}  // namespace kiln
