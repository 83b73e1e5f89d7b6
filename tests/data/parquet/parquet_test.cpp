// Parquet files that pyarrow wrote (parquet_files.py), and damaged ones.
#include "kiln/data/parquet/parquet.hpp"

#include <thread>

#include "tests/data/parquet/stored.hpp"
#include "tests/data/raised.hpp"
#include "tests/data/temporary_directory.hpp"

namespace kiln {
namespace {

using test::raised;
using test::stored;

constexpr std::int64_t kRows = 70;
const std::vector<std::string> kFiles = {"plain", "snappy", "gzip2", "zstd", "deltas", "old"};

struct Picture {
  std::vector<std::uint8_t> bytes;
  std::optional<std::string> path;
};
enum class Role { user, model };
struct Turn {
  Role role = Role::user;
  std::int16_t length = 0;
};
struct Row {
  std::int8_t label = 0;
  std::optional<std::string> title;
  float weight = 0;
  int small = 0;
  std::uint32_t large = 0;
  bool flag = false;
  std::optional<std::int64_t> maybe;
  Picture image;
  std::optional<std::vector<std::string>> tokens;
  std::vector<std::optional<int>> ids;
  std::vector<Turn> turns;
  std::vector<std::byte> digest;
};

void expect_row(const Row& row, std::int64_t i) {
  SCOPED_TRACE(i);
  const int n = static_cast<int>(i);
  EXPECT_EQ(row.label, n % 7);
  std::string title;
  for (int j = 0; j < n % 3; ++j) title += text("title ", n);
  EXPECT_EQ(row.title, n % 5 == 0 ? std::nullopt : std::optional(title));
  EXPECT_EQ(row.weight, static_cast<float>(n) / 8);
  EXPECT_EQ(row.small, -n);
  EXPECT_EQ(row.large, 0xffff'ffffu - static_cast<std::uint32_t>(n));
  EXPECT_EQ(row.flag, n % 3 == 0);
  EXPECT_EQ(row.maybe, n % 2 ? std::nullopt : std::optional(i * 1'000'000'000'000));
  std::vector<std::uint8_t> bytes;
  for (int j = 0; j < n % 4; ++j)
    bytes.insert(bytes.end(), {static_cast<std::uint8_t>(n), static_cast<std::uint8_t>(255 - n)});
  EXPECT_EQ(row.image.bytes, bytes);
  EXPECT_EQ(row.image.path, n % 4 == 0 ? std::nullopt : std::optional(text(n, ".png")));
  EXPECT_EQ(row.tokens.has_value(), n % 11 != 10);
  if (row.tokens) {
    ASSERT_EQ(std::ssize(*row.tokens), n % 4);
    for (int j = 0; j < n % 4; ++j) EXPECT_EQ((*row.tokens)[static_cast<std::size_t>(j)], text('t', j));
  }
  ASSERT_EQ(std::ssize(row.ids), n % 3);
  for (int j = 0; j < n % 3; ++j)
    EXPECT_EQ(row.ids[static_cast<std::size_t>(j)], j == 1 ? std::nullopt : std::optional(n * j));
  ASSERT_EQ(std::ssize(row.turns), n % 3 + 1);
  for (int j = 0; j <= n % 3; ++j) {
    EXPECT_EQ(row.turns[static_cast<std::size_t>(j)].role, j % 2 ? Role::model : Role::user);
    EXPECT_EQ(row.turns[static_cast<std::size_t>(j)].length, n + j);
  }
  EXPECT_EQ(row.digest, std::vector<std::byte>(4, static_cast<std::byte>(n)));
}

TEST(Parquet, ReadsWhatPyarrowWrote) {
  for (const std::string& name : kFiles) {
    SCOPED_TRACE(name);
    const auto rows = parquet_rows<Row>(ParquetFile(stored(name)));
    ASSERT_EQ(rows->size(), kRows);
    for (std::int64_t i = 0; i < kRows; ++i) expect_row(rows->get(i), i);
  }
}

TEST(Parquet, NamesColumnsAndClasses) {
  const ParquetFile file(stored("snappy"));
  std::vector<std::string> names;
  for (const auto& column : file.columns()) names.push_back(column.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"label", "title", "weight", "small", "large", "flag", "maybe", "image.bytes",
                                      "image.path", "tokens", "ids", "turns.role", "turns.length", "digest"}));
  EXPECT_EQ(file.classes("label"), (std::vector<std::string>{"a", "b", "c", "d", "e", "f", "g"}));
  EXPECT_TRUE(file.classes("title").empty());
  EXPECT_EQ(file.metadata("pandas"), nullptr);
}

TEST(Parquet, IsReadByAnyThreadInAnyOrder) {
  for (const std::int64_t most_bytes : {0, 2000, 1 << 30}) {  // keeps nothing but what is in use, some, all
    const auto rows = parquet_rows<Row>(ParquetFile(stored("plain"), most_bytes));
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&] {
        for (std::int64_t i = 0; i < 3 * kRows; ++i) expect_row(rows->get(i * 37 % kRows), i * 37 % kRows);
      });
    for (auto& thread : threads) thread.join();
  }
}

TEST(Parquet, ReadsManyRowsAtOnce) {
  for (const std::int64_t most_bytes : {0, 1 << 30}) {
    const auto rows = parquet_rows<Row>(ParquetFile(stored("plain"), most_bytes));
    std::vector<std::int64_t> wanted;
    for (std::int64_t i = 0; i < 2 * kRows; ++i) wanted.push_back(i * 37 % kRows);
    const auto many = rows->get_many(wanted);
    ASSERT_EQ(many.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) expect_row(many[i], wanted[i]);
    EXPECT_TRUE(rows->get_many({}).empty());
  }
  struct Titled {
    std::string title;
  };
  const auto titled = parquet_rows<Titled>(ParquetFile(stored("plain")));
  std::size_t at = 0;
  EXPECT_EQ(raised<DataError>([&] { titled->get_many(std::vector<std::int64_t>{1, 69, 65, 2}, &at); }),
            stored("plain") + ", row 65: column 'title' is missing (a field that may be is a std::optional)");
  EXPECT_EQ(at, 2u);
}

TEST(Parquet, HasTheFilesOfASplit) {
  const test::TemporaryDirectory directory;
  const std::string bytes = read_text_file(stored("snappy"));
  directory.write("data/train-00000-of-00002.parquet", bytes);
  directory.write("data/test.parquet", bytes);
  const std::string place = (directory.path() / "data").string();
  EXPECT_EQ(raised<DataError>([&] { parquet_split<Row>(directory.path(), "train"); }),
            place + ": has 1 Parquet files of 'train', and their names say that there are 2");
  directory.write("data/train-00001-of-00002.parquet", read_text_file(stored("zstd")));
  const auto train = parquet_split<Row>(directory.path(), "train");
  ASSERT_EQ(train->size(), 2 * kRows);
  expect_row(train->get(kRows + 3), 3);
  EXPECT_EQ(parquet_split<Row>(directory.path(), "test")->size(), kRows);
  EXPECT_EQ(raised<DataError>([&] { parquet_split<Row>(directory.path(), "valid"); }),
            directory.path().string() + ": has no Parquet files of 'valid'");
  EXPECT_THROW(parquet_split<Row>(directory.path() / "none", "train"), IoError);
  directory.write("other/test/0000.parquet", bytes);
  EXPECT_EQ(parquet_split<Row>(directory.path() / "other", "test")->size(), kRows);
  EXPECT_EQ(raised<DataError>([&] { parquet_split<Row>(directory.path(), "test"); }),
            directory.path().string() + ": has Parquet files of 'test' in " + place + " and in " +
                (directory.path() / "other" / "test").string() + ": select one of them");
}

struct NoText {
  std::string label;
};
struct NoColumn {
  int lable = 0;
};
struct NoList {
  std::vector<int> label;
};
struct IsList {
  std::string tokens;
};
struct TooSmall {
  std::uint8_t large = 0;
};
struct NotMissing {
  std::string title;
};
struct NoListAtAll {
  std::vector<std::string> tokens;
};
struct NotMissingInList {
  std::vector<int> ids;
};
TEST(Parquet, SaysWhatIsWrong) {
  const std::string path = stored("snappy");
  const auto refused = [&]<class R>(R, std::int64_t row) {
    return raised<DataError>([&] { parquet_rows<R>(ParquetFile(path))->get(row); }).substr(path.size());
  };
  EXPECT_EQ(refused(NoText(), 0), ": column 'label' has whole numbers, and is read as texts");
  EXPECT_EQ(refused(NoColumn(), 0), ": has no column 'lable' (did you mean 'label'?)");
  EXPECT_EQ(refused(NoList(), 0), ": column 'label' has whole numbers, and is read as lists of whole numbers");
  EXPECT_EQ(refused(IsList(), 0), ": column 'tokens' has lists of texts or bytes, and is read as texts");
  EXPECT_EQ(refused(TooSmall(), 9), ", row 9: column 'large' is too large or too small a number: 4294967286");
  EXPECT_EQ(refused(NotMissing(), 5), ", row 5: column 'title' is missing (a field that may be is a std::optional)");
  EXPECT_EQ(refused(NoListAtAll(), 10),
            ", row 10: column 'tokens' is missing (a field that may be is a std::optional)");
  EXPECT_EQ(refused(NotMissingInList(), 2),
            ", row 2: column 'ids' is missing (a field that may be is a std::optional)");

  const test::TemporaryDirectory directory;
  const std::string none = directory.write("none.parquet", "PAR"), bytes = read_text_file(path);
  EXPECT_EQ(raised<DataError>([&] { ParquetFile file(none); }), none + ": is no Parquet file");
  const std::string cut = directory.write("cut.parquet", bytes.substr(0, bytes.size() - 9));
  EXPECT_EQ(raised<DataError>([&] { ParquetFile file(cut); }), cut + ": is a damaged Parquet file: it is cut off");
  EXPECT_THROW(ParquetFile(directory.file("nowhere.parquet")), IoError);
  EXPECT_THROW(parquet_rows<Row>(ParquetFile(path))->get(kRows), IndexError);
}

TEST(Parquet, ReadsOrRefusesDamagedFiles) { test::read_damaged<Row>(kFiles, 12'000, 1000, 1000); }

}  // namespace
}  // namespace kiln
