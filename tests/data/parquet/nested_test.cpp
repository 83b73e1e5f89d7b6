// Lists in lists, maps, structs that are missing, and what stands for something else, of files that pyarrow wrote
// (parquet_files.py), and as older writers left them (older_files.py).
#include <cstdlib>
#include <map>

#include "tests/data/parquet/stored.hpp"
#include "tests/data/raised.hpp"
#include "tests/support/peak_memory.hpp"

namespace kiln {
namespace {

using test::raised;
using test::stored;

template <class T> using Lists = std::vector<std::vector<T>>;
const std::vector<std::string> kDeep = {"deep_plain", "deep_brotli", "deep_lz4", "deep_int96", "deep_deltas"};

struct Born {
  std::int16_t year = 0;
  std::optional<std::string> place;
};
struct Person {
  std::string name;
  std::optional<std::vector<std::string>> tags;
  std::optional<Born> born;
};
struct Point {
  double x = 0;
  int y = 0;
};
struct Deep {
  std::optional<std::vector<std::optional<std::vector<std::optional<int>>>>> grid;
  std::vector<Lists<float>> cube;
  std::vector<Person> people;
  std::optional<std::map<std::string, std::vector<std::int64_t>>> counts;
  std::optional<Point> point;
  std::optional<double> price;
  double rate = 0, large = 0;
  std::vector<double> huge;
  std::optional<std::int64_t> time;
  float half = 0;
};

void expect_people(const std::vector<Person>& people, int i) {
  ASSERT_EQ(std::ssize(people), i % 4);
  for (int j = 0; j < i % 4; ++j) {
    const Person& person = people[static_cast<std::size_t>(j)];
    EXPECT_EQ(person.name, text('p', i));
    EXPECT_EQ(person.tags.has_value(), j != 1);
    if (person.tags) {
      ASSERT_EQ(std::ssize(*person.tags), j + i % 2);
      for (int k = 0; k < j + i % 2; ++k) EXPECT_EQ((*person.tags)[static_cast<std::size_t>(k)], text('t', k));
    }
    EXPECT_EQ(person.born.has_value(), (i + j) % 3 != 0);
    if (person.born) {
      EXPECT_EQ(person.born->year, 1900 + i);
      EXPECT_EQ(person.born->place, j ? std::optional(std::string(static_cast<std::size_t>(j), 'x')) : std::nullopt);
    }
  }
}

void expect_lists(const Deep& row, int i) {
  EXPECT_EQ(row.grid.has_value(), i % 9 != 8);
  if (row.grid) {
    ASSERT_EQ(std::ssize(*row.grid), i % 4);
    for (int j = 0; j < i % 4; ++j) {
      const auto& list = (*row.grid)[static_cast<std::size_t>(j)];
      EXPECT_EQ(list.has_value(), (i + j) % 5 != 4);
      if (!list) continue;
      ASSERT_EQ(std::ssize(*list), (i + j) % 5);
      for (int k = 0; k < (i + j) % 5; ++k)
        EXPECT_EQ((*list)[static_cast<std::size_t>(k)], k == 3 ? std::nullopt : std::optional(i * j - k));
    }
  }
  std::vector<Lists<float>> cube(static_cast<std::size_t>(i % 3));
  for (int j = 0; j < i % 3; ++j)
    for (int k = 0; k < j; ++k)
      cube[static_cast<std::size_t>(j)].emplace_back(static_cast<std::size_t>(k),
                                                     static_cast<float>(i + j) + static_cast<float>(k) / 4);
  EXPECT_EQ(row.cube, cube);
  EXPECT_EQ(row.counts.has_value(), i % 6 != 5);
  if (row.counts) {
    std::map<std::string, std::vector<std::int64_t>> counts;
    for (int j = 0; j < i % 3; ++j) counts[text("key ", j)] = std::vector<std::int64_t>(static_cast<std::size_t>(j), i);
    EXPECT_EQ(*row.counts, counts);
  }
}

void expect_numbers(const Deep& row, int i) {
  EXPECT_EQ(row.point.has_value(), i % 4 != 3);
  if (row.point) {
    EXPECT_EQ(row.point->x, i / 2.0);
    EXPECT_EQ(row.point->y, -i);
  }
  // The C library rounds the decimal's letters to the nearest double.
  const std::string cents = text((i - 30) * 123457 + 1);
  const auto nearest = [](const std::string& letters) { return std::strtod(letters.c_str(), nullptr); };
  EXPECT_EQ(row.price, i % 7 == 6 ? std::nullopt : std::optional(nearest(cents + "e-2")));
  EXPECT_EQ(row.rate, nearest(cents + "e-9"));
  EXPECT_EQ(row.large, nearest(cents + "00000000000000000007e-10"));
  std::string huge = cents;
  for (int times = 0; times < 9; ++times) huge += "12345";
  EXPECT_EQ(row.huge, std::vector<double>(static_cast<std::size_t>(i % 2), nearest(huge + "e-20")));
  EXPECT_EQ(row.time, i % 5 == 2 ? std::nullopt : std::optional(std::int64_t{i - 35} * 1000 * 86'400'000'000'000 + i));
  EXPECT_EQ(row.half, static_cast<float>(i) / 8 - 3);
}

TEST(ParquetNested, ReadsWhatPyarrowWrote) {
  for (const std::string& name : kDeep) {
    SCOPED_TRACE(name);
    const auto rows = parquet_rows<Deep>(ParquetFile(stored(name)));
    ASSERT_EQ(rows->size(), 70);
    for (int i = 0; i < 70; ++i) {
      SCOPED_TRACE(i);
      const Deep row = rows->get(i);
      expect_lists(row, i);
      expect_people(row.people, i);
      expect_numbers(row, i);
    }
  }
}

TEST(ParquetNested, NamesColumns) {
  const ParquetFile file(stored("deep_plain"));
  std::vector<std::string> names;
  for (const auto& column : file.columns()) names.push_back(column.name);
  EXPECT_EQ(names, (std::vector<std::string>{"grid", "cube", "people.name", "people.tags", "people.born.year",
                                             "people.born.place", "counts.key", "counts.value", "point.x", "point.y",
                                             "price", "rate", "large", "huge", "time", "half"}));
}

struct OldList {
  int n = 0;
};
struct OldItems {
  std::vector<int> item;
};
struct Old {
  std::optional<std::vector<int>> a;
  std::optional<Lists<int>> b;
  std::optional<std::vector<OldList>> c;
  std::vector<int> d;
  std::optional<std::vector<OldItems>> e;
  std::optional<std::map<std::string, std::optional<int>>> m;
};

TEST(ParquetNested, ReadsListsOfTwoLevels) {
  const auto rows = parquet_rows<Old>(ParquetFile(stored("two_levels")));
  ASSERT_EQ(rows->size(), 3);
  const Old first = rows->get(0), second = rows->get(1), third = rows->get(2);
  EXPECT_FALSE(first.a || second.b || second.c || second.m);
  EXPECT_EQ(second.a, (std::vector<int>{1, -2}));
  EXPECT_EQ(third.a, std::vector<int>{});
  EXPECT_EQ(first.b, (Lists<int>{{3, 4}, {}, {5}}));
  EXPECT_EQ(third.b, Lists<int>{});
  ASSERT_TRUE(first.c && third.c);
  EXPECT_TRUE(first.c->empty());
  ASSERT_EQ(third.c->size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ((*third.c)[static_cast<std::size_t>(i)].n, 6 + i);
  EXPECT_EQ(first.d, (std::vector<int>{9, 10}));
  EXPECT_EQ(second.d, std::vector<int>{});
  EXPECT_EQ(third.d, std::vector<int>{11});
  EXPECT_FALSE(second.e);
  ASSERT_TRUE(first.e && third.e);
  ASSERT_EQ(first.e->size(), 2u);
  EXPECT_EQ(first.e->front().item, (std::vector<int>{14, 15}));
  EXPECT_TRUE(first.e->back().item.empty() && third.e->empty());
  ASSERT_TRUE(first.m && third.m);
  EXPECT_EQ(*first.m, (std::map<std::string, std::optional<int>>{{"x", 12}, {"y", std::nullopt}}));
  EXPECT_EQ(*third.m, (std::map<std::string, std::optional<int>>{{"z", 13}}));
}

struct Priced {
  int n = 0;
  double price = 0;
};

TEST(ParquetNested, ReadsDecimalsOfAnyLengthAndHadoopsLz4) {
  const std::vector<std::string> unscaled = {"0",
                                             "1",
                                             "-1",
                                             "127",
                                             "-128",
                                             "1000000000",
                                             "-1000000000",
                                             "9007199254740993",
                                             "-9223372036854775808",
                                             "100000000000000000001",
                                             "-1000000000000000000000000000001",
                                             "1234567890000000000000000000000000",
                                             "-1180591620717411434496001"};
  for (const std::string name : {"hadoop", "block"}) {
    const auto rows = parquet_rows<Priced>(ParquetFile(stored(name)));
    ASSERT_EQ(rows->size(), std::ssize(unscaled));
    for (std::size_t i = 0; i < unscaled.size(); ++i) {
      const Priced row = rows->get(static_cast<std::int64_t>(i));
      EXPECT_EQ(row.n, i / 3);
      EXPECT_EQ(row.price, std::strtod((unscaled[i] + "e-3").c_str(), nullptr)) << unscaled[i];
    }
  }
}

struct TooFlat {
  std::vector<int> grid;
};
struct TooDeep {
  Lists<std::vector<int>> grid;
};
struct NoInnerList {
  std::optional<std::vector<std::vector<std::optional<int>>>> grid;
};
struct NoBirth {
  struct Someone {
    Born born;
  };
  std::vector<Someone> people;
};
struct NoPoint {
  Point point;
};
struct WholePrice {
  std::int64_t price = 0;
};

TEST(ParquetNested, SaysWhatIsWrong) {
  const auto refused = [&]<class R>(R, std::int64_t row, const std::string& name = "deep_plain") {
    const std::string said = raised<DataError>([&] { parquet_rows<R>(ParquetFile(stored(name)))->get(row); });
    return said.starts_with(stored(name)) ? said.substr(stored(name).size()) : said;
  };
  EXPECT_EQ(refused(TooFlat(), 0),
            ": column 'grid' has lists of lists of whole numbers, and is read as lists of whole numbers");
  EXPECT_EQ(refused(TooDeep(), 0),
            ": column 'grid' has lists of lists of whole numbers, and is read as lists of lists of "
            "lists of whole numbers");
  EXPECT_EQ(refused(NoInnerList(), 3), ", row 3: column 'grid' is missing (a field that may be is a std::optional)");
  EXPECT_EQ(refused(NoBirth(), 3),
            ", row 3: column 'people.born.year' is missing (a field that may be is a std::optional)");
  EXPECT_EQ(refused(NoPoint(), 3), ", row 3: column 'point.x' is missing (a field that may be is a std::optional)");
  EXPECT_EQ(refused(WholePrice(), 0), ": column 'price' has numbers, and is read as whole numbers");
  EXPECT_EQ(refused(OldList(), 0, "lzo"),
            ": is compressed by LZO, which is not supported: snappy, gzip, zstd, LZ4 and Brotli are");

  struct Astray {
    std::vector<int> d;
  };
  EXPECT_EQ(refused(Astray(), 0, "astray"), ": is a damaged Parquet file: a list continues before it begins");
  struct Timed {
    std::int64_t time = 0;
  };
  EXPECT_EQ(refused(Timed(), 0, "ancient"),
            ": column 'time': has a time before 1677 or after 2262, which nanoseconds of 64 bits do not reach");
}

// An old writer's says 0 rows in all, and its part two.
TEST(ParquetNested, CountsTheRowsOfItsParts) {
  struct Counted {
    int n = 0;
  };
  const auto rows = parquet_rows<Counted>(ParquetFile(stored("uncounted")));
  ASSERT_EQ(rows->size(), 2);
  EXPECT_EQ(rows->get(0).n, 7);
  EXPECT_EQ(rows->get(1).n, 8);
}

// 2^28 rows, all of them missing, in five bytes: ten bytes each are more than a part of this size may take.
TEST(ParquetNested, ASmallPageDoesNotStandForGigabytes) {
  struct Vast {
    std::optional<int> n;
  };
  const std::string file = stored("vast");
  const auto rows = parquet_rows<Vast>(ParquetFile(file));
  EXPECT_EQ(rows->size(), 1 << 28);
  std::string said;
  const std::int64_t peak = test::peak_memory([&] { rows->get(0); });
  EXPECT_GE(peak, 0);
  EXPECT_LT(peak, 16 << 20);
  EXPECT_EQ(
      raised<DataError>([&] { rows->get(0); }),
      file + ": column 'n' takes more than 1073741824 bytes in a part of 31 (ParquetFile's most_bytes allows more)");
}

TEST(ParquetNested, KnowsPagesByTheirChecksums) {
  struct Counted {
    int n = 0;
  };
  std::string bytes = read_text_file(stored("summed"));
  const auto third = [&] {
    return parquet_rows<Counted>(ParquetFile(FileBytes{std::as_bytes(std::span(bytes)), "t", nullptr}))->get(3).n;
  };
  EXPECT_EQ(third(), 3);
  for (std::size_t at = 100; at < 500; ++at) {  // among the values
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    EXPECT_EQ(raised<DataError>(third), "t: is a damaged Parquet file: the checksum of a page differs");
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
  }
}

TEST(ParquetNested, ReadsOrRefusesDamagedFiles) {
  test::read_damaged<Deep>(kDeep, 20'000, 200, 1000);
  test::read_damaged<Old>({"two_levels"}, 10'000, 100, 500);
  test::read_damaged<Priced>({"hadoop", "block"}, 10'000, 100, 500);
}

}  // namespace
}  // namespace kiln
