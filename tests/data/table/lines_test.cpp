#include "kiln/data/table/lines.hpp"

#include <gtest/gtest.h>

#include "kiln/core/random.hpp"
#include "kiln/data/compose/kept.hpp"

#include "tests/data/damaged.hpp"
#include "tests/data/raised.hpp"
#include "tests/data/temporary_directory.hpp"

namespace kiln {
namespace {

using test::raised;

FileBytes table_of(std::string_view text) { return {std::as_bytes(std::span(text)), "t.jsonl", nullptr}; }

std::vector<std::string> lines_of(std::string_view text) {
  const TextLines lines(table_of(text));
  std::vector<std::string> all;
  for (std::int64_t i = 0; i < lines.size(); ++i) all.push_back(lines.get(i));
  return all;
}

TEST(Lines, AreWhatLiesBetweenEnds) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines_of("a\n\nb\r\n c"), (Lines{"a", "", "b", " c"}));
  EXPECT_EQ(lines_of("a\n"), (Lines{"a"}));
  EXPECT_EQ(lines_of("\n"), (Lines{""}));
  EXPECT_EQ(lines_of("\xef\xbb\xbf"
                     "a\rb"),
            (Lines{"a\rb"}));
  EXPECT_TRUE(lines_of("").empty());
}

struct Review {
  std::string text;
  int stars = 0;
  std::vector<std::string> tags = {"none"};
};

TEST(JsonLines, FillStructs) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.write(
      "r.jsonl", "{\"text\": \"good\\n\", \"stars\": 5}\n\n  \r\n{\"stars\":1,\"text\":\"\",\"tags\":[\"a\"]}");
  const auto reviews = json_lines<Review>(path);
  ASSERT_EQ(reviews->size(), 2);
  EXPECT_EQ(reviews->get(0).text, "good\n");
  EXPECT_EQ(reviews->get(0).tags, std::vector<std::string>{"none"});
  EXPECT_EQ(reviews->get(1).stars, 1);
  EXPECT_EQ(reviews->get(1).tags, std::vector<std::string>{"a"});
  EXPECT_EQ(collected(reviews)->get(1).stars, 1);
  EXPECT_EQ(raised<IoError>([&] { json_lines<Review>(directory.file("none.jsonl")); }).find("none.jsonl"),
            directory.path().string().size() + std::string("cannot open ").size() + 1);
}

TEST(JsonLines, SayWhatIsWrongWhere) {
  const JsonLines broken(table_of("{\"text\": \"a\"}\n\n{\"text\": }\n"));
  EXPECT_EQ(
      raised<DataError>([&] { broken.get(1); }),
      "t.jsonl:3: parse error at line 1, column 10: syntax error while parsing value - unexpected '}'; expected '[', "
      "'{', or a literal");
  const auto wrong =
      share(JsonRows<Review>(JsonLines(table_of("{\"text\": \"a\"}\n{\"text\": \"a\", \"stars\": \"5\"}\n"))));
  EXPECT_EQ(wrong->get(0).text, "a");
  EXPECT_EQ(raised<DataError>([&] { wrong->get(1); }), "t.jsonl:2: 'stars' must be an integer, got \"5\"");
  EXPECT_EQ(raised<DataError>([&] { collected(wrong); }), "t.jsonl:2: 'stars' must be an integer, got \"5\"");
}

TEST(JsonLines, EndInDataErrorsWhateverTheBytes) {
  const std::string sound = "{\"text\": \"a\", \"stars\": 3}\n{\"text\": \"b\\u00e9\", \"tags\": [\"c\", \"d\"]}\n";
  int read = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    Random random(seed);
    const std::string text = test::changed(sound, random);
    try {
      collected(share(JsonRows<Review>(JsonLines(table_of(text)))));
      ++read;
    } catch (const DataError& error) {
      EXPECT_TRUE(error.message().starts_with("t.jsonl:"));
      ++refused;
    }
  }
  EXPECT_GT(read, 50);
  EXPECT_GT(refused, 5000);
}

}  // namespace
}  // namespace kiln
