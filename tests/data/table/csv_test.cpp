#include "kiln/data/table/csv.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "kiln/core/random.hpp"

#include "tests/data/raised.hpp"

namespace kiln {
namespace {

using test::raised;
using Record = std::vector<std::string>;

/// A file called "t.csv" of this text, which must live on.
FileBytes file_of(std::string_view text) { return {std::as_bytes(std::span(text)), "t.csv", nullptr}; }

std::vector<Record> records_of(std::string_view text, const CsvFormat& format = {.header = false}) {
  const CsvFile file(file_of(text), format);
  std::vector<Record> records;
  for (std::int64_t i = 0; i < file.size(); ++i) records.push_back(file.get(i));
  return records;
}

TEST(Csv, ReadsFieldsAsTheStandardSays) {
  // Expected: csv.reader of Python 3.11, without its empty rows.
  EXPECT_EQ(records_of("a,b\n1,2\r\n"), (std::vector<Record>{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(records_of("\"a,b\",\"c\"\"d\"\n\"e\nf\",\n"), (std::vector<Record>{{"a,b", "c\"d"}, {"e\nf", ""}}));
  EXPECT_EQ(records_of("\n\na,\n\n\r\n,b"), (std::vector<Record>{{"a", ""}, {"", "b"}}));
  EXPECT_EQ(records_of("x,"), (std::vector<Record>{{"x", ""}}));
  EXPECT_EQ(records_of("5\" pipe,\"\"\n"), (std::vector<Record>{{"5\" pipe", ""}}));
  EXPECT_EQ(records_of("\"\"\"\",\"\"\"\"\"\"\n"), (std::vector<Record>{{"\"", "\"\""}}));
  EXPECT_EQ(records_of(" a , b \n"), (std::vector<Record>{{" a ", " b "}}));
  EXPECT_EQ(records_of("a;b,c\n", {.delimiter = ';', .header = false}), (std::vector<Record>{{"a", "b,c"}}));
  EXPECT_EQ(records_of("\xef\xbb\xbf"
                       "a\nb\n"),
            (std::vector<Record>{{"a"}, {"b"}}));
  EXPECT_TRUE(records_of("").empty());
  EXPECT_TRUE(records_of("\r\n\n").empty());
}

TEST(Csv, KnowsItsColumns) {
  const CsvFile file(file_of("name,age\nAda,36\nAlan,41\n"));
  EXPECT_EQ(file.size(), 2);
  EXPECT_EQ(file.columns(), (Record{"name", "age"}));
  EXPECT_EQ(file.column("age"), 1u);
  EXPECT_EQ(file.get(1), (Record{"Alan", "41"}));
  EXPECT_EQ(raised<DataError>([&] { file.column("agge"); }), "t.csv: has no column 'agge' (did you mean 'age'?)");
  EXPECT_NE(raised<DataError>([&] { file.column("unlike"); }).find("t.csv: has no column 'unlike'; it has '"),
            std::string::npos);
  EXPECT_EQ(raised<IndexError>([&] { file.get(2); }), "data set: item 2 of 2 does not exist");
}

TEST(Csv, SaysWhereAFileIsDamaged) {
  const auto open = [](std::string_view text, CsvFormat format = {}) {
    return raised<DataError>([&] { CsvFile(file_of(text), format); });
  };
  EXPECT_EQ(open("a,b\n1,2\n3\n"), "t.csv:3: has 1 fields, the first record has 2");
  EXPECT_EQ(open("a,b\n\"x\ny\",2\n3,4,5\n"), "t.csv:4: has 3 fields, the first record has 2");
  EXPECT_EQ(open("a,b\n1,\"2\n3,4\n"), "t.csv:2: has a quote that does not end");
  EXPECT_EQ(open("a,b\n1,\"2\"3\n"), "t.csv:2: field 2 has '3' after its quotes");
  EXPECT_EQ(open("a,a\n1,2\n"), "t.csv: two columns are named 'a'");
  EXPECT_EQ(open(""), "t.csv: holds no header with the names of its columns");
  // Each name is looked up once, not compared with all others.
  std::string many;
  for (int i = 0; i < 200'000; ++i) many += text(i, ',');
  EXPECT_EQ(open(many + "7\n"), "t.csv: two columns are named '7'");
  EXPECT_EQ(raised<ArgumentError>([&] { CsvFile(file_of("a\n"), {.delimiter = '"'}); }),
            "CSV: quotes and ends of lines cannot be delimiters");
}

enum class Colour { Red, Green };
struct Row {
  std::string name;
  double weight = 0;
  std::int8_t count = 0;
  bool ripe = false;
  Colour colour = Colour::Red;
  std::optional<float> price;
};

TEST(Csv, FillsStructs) {
  const auto rows = csv_rows<Row>(CsvFile(file_of(
      "colour,count,ripe,name,weight,price,unused\nGreen,-7,true,\"a, b\", 1.5e3 ,,x\nRed,+3,0,,inf,0.25,y\n")));
  ASSERT_EQ(rows->size(), 2);
  const Row first = rows->get(0), second = rows->get(1);
  EXPECT_EQ(first.name, "a, b");
  EXPECT_EQ(first.weight, 1500);
  EXPECT_EQ(first.count, -7);
  EXPECT_TRUE(first.ripe);
  EXPECT_EQ(first.colour, Colour::Green);
  EXPECT_FALSE(first.price);
  EXPECT_EQ(second.name, "");
  EXPECT_TRUE(std::isinf(second.weight));
  EXPECT_EQ(second.count, 3);
  EXPECT_FALSE(second.ripe);
  EXPECT_EQ(second.price, 0.25f);
}

struct Pair {
  int a = 0;
  double b = 0;
};

TEST(Csv, SaysWhichFieldIsNone) {
  const auto read = [](std::string_view text) {
    return raised<DataError>([&] { csv_rows<Pair>(CsvFile(file_of(text)))->get(0); });
  };
  EXPECT_EQ(read("a,b\n1x,2\n"), "t.csv:2: column 'a': '1x' is no whole number");
  EXPECT_EQ(read("a,b\n1.0,2\n"), "t.csv:2: column 'a': '1.0' is no whole number; a field of type double takes it");
  EXPECT_EQ(read("a,b\n9999999999,2\n"), "t.csv:2: column 'a': '9999999999' is too large or too small a number");
  EXPECT_EQ(read("a,b\n1,\n"), "t.csv:2: column 'b': '' is missing; a field of type std::optional takes missing cells");
  EXPECT_EQ(read("a,b\n1,+-2\n"), "t.csv:2: column 'b': '+-2' is no number");
  EXPECT_EQ(read("a,c\n1,2\n"), "t.csv: has no column 'b'; it has 'a', 'c'");
  EXPECT_EQ(raised<DataError>([&] { csv_rows<Pair>(CsvFile(file_of("1,2,3\n"), {.header = false})); }),
            "t.csv: has 3 columns without names, not the 2 that are read from it");
  EXPECT_EQ(raised<DataError>([&] { csv_rows<Pair>(CsvFile(file_of("1,q\n"), {.header = false}))->get(0); }),
            "t.csv:1: column 2: 'q' is no number");
  EXPECT_EQ(csv_rows<Pair>(CsvFile(file_of("1,2.5\n"), {.header = false}))->get(0).b, 2.5);
}

TEST(Csv, TakesMissingCellsThatTheFormatNames) {
  const auto read = [](std::string_view text, const CsvFormat& format = {}) {
    return csv_rows<Row>(CsvFile(file_of(text), format))->get(0).price;
  };
  const std::string head = "colour,count,ripe,name,weight,price\nGreen,1,true,a,1,";
  EXPECT_FALSE(read(head + " NA \n", {.missing = {"NA", "?"}}));
  EXPECT_FALSE(read(head + "?\n", {.missing = {"NA", "?"}}));
  EXPECT_FALSE(read(head + "NA\n", {.missing = {" NA"}}));
  EXPECT_FALSE(read(head + "\n", {.missing = {"NA"}}));
  EXPECT_EQ(read(head + "2\n", {.missing = {"NA"}}), 2);
  for (const std::string none : {"NA", "N/A", "null", "?"})
    EXPECT_EQ(raised<DataError>([&] { read(head + none + "\n"); }),
              "t.csv:2: column 'price': '" + none + "' is no number; CsvFormat{.missing = {\"" + none +
                  "\"}} and a field of type std::optional take it as missing");
  EXPECT_EQ(
      raised<DataError>([&] { csv_rows<Pair>(CsvFile(file_of("a,b\nnone,2\n"), {.missing = {"none"}}))->get(0); }),
      "t.csv:2: column 'a': 'none' is missing; a field of type std::optional takes missing cells");
}

TEST(Csv, SaysWhichFormatAFileOfAnotherKindNeeds) {
  const auto read = [](std::string_view text, const CsvFormat& format = {}) {
    return raised<DataError>([&] { csv_rows<Pair>(CsvFile(file_of(text), format))->get(0); });
  };
  const std::string semicolon = "; its first line has ';' in it: CsvFormat{.delimiter = ';'} separates by it";
  EXPECT_EQ(read("a;b\n1;2\n"), "t.csv: has no column 'a'" + semicolon);
  EXPECT_EQ(read("a;b\n1,5;2\n"), "t.csv:2: has 2 fields, the first record has 1" + semicolon);
  EXPECT_EQ(read("a\tb\n1\t2\n"),
            "t.csv: has no column 'a'; its first line has '\\t' in it: CsvFormat{.delimiter = '\\t'} separates by it");
  EXPECT_EQ(read("1;2\n", {.header = false}),
            "t.csv: has 1 columns without names, not the 2 that are read from it" + semicolon);
  // What is in quotes is no other delimiter than the file's own.
  EXPECT_EQ(read("\"1;2\"\n", {.delimiter = ';', .header = false}),
            "t.csv: has 1 columns without names, not the 2 that are read from it");
  const Pair pair = csv_rows<Pair>(CsvFile(file_of("1;2\n"), {.delimiter = ';', .header = false}))->get(0);
  EXPECT_EQ(pair.a, 1);
  EXPECT_EQ(pair.b, 2);
  EXPECT_EQ(read("a,b\n1,2\n", {.delimiter = ';'}),
            "t.csv: has no column 'a'; its first line has ',' in it: CsvFormat{.delimiter = ','} separates by it");
  EXPECT_EQ(read("a;b\n1;2,5\n", {.delimiter = ';'}),
            "t.csv:2: column 'b': '2,5' is no number: it has a comma in it; numbers are written as 1234.5");
  EXPECT_EQ(raised<DataError>([&] {
              csv_rows<Row>(CsvFile(file_of("colour,count,ripe,name,weight,price\nGren,1,true,a,1,\n")))->get(0);
            }),
            "t.csv:2: column 'colour': 'Gren' is no Colour (did you mean 'Green'?), which is one of Red, Green");
}

/// A field as RFC 4180 writes it.
std::string in_quotes(const std::string& field) {
  std::string out = "\"";
  for (const char c : field) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

TEST(Csv, ReadsWhatWasWritten) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const std::int64_t width = 1 + random.below(4);
    std::vector<Record> expected;
    std::string text;
    for (std::int64_t count = random.below(6); count > 0; --count) {
      Record& record = expected.emplace_back();
      for (std::int64_t i = 0; i < width; ++i) {
        std::string field;
        for (std::int64_t letters = random.below(6); letters > 0; --letters) field += "a\",\n\r "[random.below(6)];
        text += (i ? "," : "") + in_quotes(field);
        record.push_back(std::move(field));
      }
      text += random.below(2) ? "\n" : "\r\n";
    }
    EXPECT_EQ(records_of(text), expected) << seed;
  }
}

TEST(Csv, EndsInDataErrorsWhateverTheBytes) {
  const std::string sound = "a,b\n1,2.5\n\"3\",\"4\"\n-5,\"6\"\r\n";
  int read = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    Random random(seed);
    std::string text = sound;
    for (std::int64_t changes = 1 + random.below(4); changes > 0; --changes) {
      const auto at = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(text.size())));
      if (random.below(2)) text[at] = "\",\n\r1\0x."[random.below(8)];
      else text.erase(at, static_cast<std::size_t>(random.below(3)));
      if (text.empty()) text = ",";
    }
    try {
      const auto rows = csv_rows<Pair>(CsvFile(file_of(text)));
      for (std::int64_t i = 0; i < rows->size(); ++i) rows->get(i);
      ++read;
    } catch (const DataError& error) {
      EXPECT_TRUE(error.message().starts_with("t.csv"));
      ++refused;
    }
  }
  EXPECT_GT(read, 500);
  EXPECT_GT(refused, 5000);
}

}  // namespace
}  // namespace kiln
