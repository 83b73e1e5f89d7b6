// Regular expressions, beside those of the standard library.
#include "kiln/core/regex/regex.hpp"

#include <gtest/gtest.h>

#include <random>
#include <regex>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/trace.hpp"

namespace kiln {
namespace {

using Groups = std::vector<std::string_view>;

TEST(Regex, DescribesTexts) {
  const struct {
    const char *pattern, *yes, *no;
  } rows[] = {
      {"abc", "abc", "abcd"},
      {"a.c", "a-c", "ac"},
      {"a\\.c", "a.c", "abc"},
      {"[a-c]+", "abcab", "abd"},
      {"[^.]*", "weight", "a.b"},
      {"\\d+", "042", "4a"},
      {"\\w+\\s\\W", "a_9 -", "a_9b"},
      {"(ab|cd)*", "abcdab", "abc"},
      {"a{2}", "aa", "aaa"},
      {"a{2,}", "aaaa", "a"},
      {"a{1,3}b", "aab", "aaaab"},
      {"(?:a|b)?c", "bc", "abc"},
      {"[]a]+", "]a", "b"},
      {"[a\\]-]+", "-]a", "\\"},
      {"^a$", "a", "aa"},
      {"", "", "a"},
      {"a|", "", "b"},
      {"\\S\\D", "ab", "a1"},
  };
  for (const auto& row : rows) {
    EXPECT_TRUE(Regex(row.pattern).matches(row.yes)) << row.pattern;
    EXPECT_FALSE(Regex(row.pattern).matches(row.no)) << row.pattern;
  }
}

TEST(Regex, TellsGroups) {
  EXPECT_EQ(Regex("(\\w+)\\.(\\d+)\\.(?:x|(y))").match("layers.12.x"), (Groups{"layers.12.x", "layers", "12", ""}));
  EXPECT_EQ(Regex("(a+)(a*)").match("aaa"), (Groups{"aaa", "aaa", ""}));
  EXPECT_EQ(Regex("(a+?)(a*)").match("aaa"), (Groups{"aaa", "a", "aa"}));
  EXPECT_EQ(Regex("b+").search("aabbab"), Groups{"bb"});
  EXPECT_EQ(Regex("b+").search("aa"), std::nullopt);
}

TEST(Regex, Replaces) {
  EXPECT_EQ(Regex("layer(\\d+)\\.").replace("layer3.conv.layer4.w", "layers.$1."), "layers.3.conv.layers.4.w");
  EXPECT_EQ(Regex("^model\\.").replace("model.model.w", ""), "model.w");
  EXPECT_EQ(Regex("x*").replace("axb", "-"), "-a--b-");
  EXPECT_EQ(Regex("a").replace("banana", "$$$0$7"), "b$an$an$a");
}

/// Patterns of letters, sets and groups. What the standard library's own does with repeats of repeats of nothing is left
/// alone: it may not come back.
std::string random_pattern(std::mt19937& random, int depth) {
  std::string pattern;
  for (unsigned i = 0, count = 1 + random() % 3; i < count; ++i) {
    const char* const letters[] = {"a", "b", ".", "[ab]", "[^a]"};
    if (depth > 0 && random() % 2) {
      pattern += text(random() % 2 ? "(" : "(?:", random_pattern(random, depth - 1), '|',
                      random_pattern(random, depth - 1), ")", random() % 3 ? "" : "?");
    } else {
      const char* const repeats[] = {"", "", "*", "+", "?", "{1,2}", "*?", "+?", "??"};
      pattern += text(letters[random() % 5], repeats[random() % 9]);
    }
  }
  return pattern;
}

TEST(Regex, AgreesWithTheStandardLibrary) {
  std::mt19937 random(1);
  for (int i = 0; i < 400; ++i) {
    const std::string pattern = random_pattern(random, 2);
    const Regex regex(pattern);
    const std::regex expected(pattern);
    for (int j = 0; j < 4; ++j) {
      std::string subject;
      for (auto length = random() % 7; length > 0; --length) subject += "abc"[random() % 3];
      EXPECT_EQ(regex.matches(subject), std::regex_match(subject, expected)) << pattern << " on " << subject;
      std::smatch place;
      const auto found = regex.search(subject);
      ASSERT_EQ(found.has_value(), std::regex_search(subject, place, expected)) << pattern << " on " << subject;
      if (!found) continue;
      EXPECT_EQ((*found)[0], place.str(0)) << pattern << " on " << subject;
      EXPECT_EQ((*found)[0].data() - subject.data(), place.position(0)) << pattern << " on " << subject;
      if (regex.matches("")) continue;  // the standard's iterator tries a place without letters twice
      EXPECT_EQ(regex.replace(subject, "<$0>"), std::regex_replace(subject, expected, "<$&>"))
          << pattern << " on " << subject;
    }
  }
}

TEST(Regex, TakesNoLongerForHostilePatterns) {
  EXPECT_FALSE(Regex("(a*)*b").matches(std::string(5000, 'a')));
  EXPECT_FALSE(Regex("(a|aa)+$").matches(std::string(5000, 'a') + "b"));
  EXPECT_TRUE(Regex("(a?){50}a{50}").matches(std::string(50, 'a')));
}

TEST(Regex, GlobsTakeNamesAndWhatLiesBelow) {
  const auto matches = [](std::string_view glob, std::string_view path) { return Regex::glob(glob).matches(path); };
  EXPECT_TRUE(matches("conv1.weight", "conv1.weight"));
  EXPECT_TRUE(matches("conv1", "conv1.weight"));
  EXPECT_FALSE(matches("conv", "conv1.weight"));
  EXPECT_TRUE(matches("conv?.*", "conv1.weight"));
  EXPECT_FALSE(matches("*.*", "conv1"));
  EXPECT_TRUE(matches("**", "blocks.0.conv1.weight"));
  EXPECT_TRUE(matches("**.weight", "blocks.0.conv1.weight"));
  EXPECT_TRUE(matches("**.weight", "weight"));
  EXPECT_FALSE(matches("**.weight", "blocks.0.weights"));
  EXPECT_TRUE(matches("blocks.*.weight", "blocks.10.weight"));
  EXPECT_FALSE(matches("blocks.*.weight", "blocks.1.0.weight"));
  EXPECT_TRUE(matches("blocks.[!1-3].{weight,bias}", "blocks.4.bias"));
  EXPECT_FALSE(matches("blocks.[!1-3].{weight,bias}", "blocks.2.bias"));
  EXPECT_FALSE(matches("", "a"));
}

TEST(Regex, SaysWhatIsWrong) {
  const auto sentence = [](const std::string& pattern) -> std::string {
    try {
      Regex{pattern};
    } catch (const Error& error) { return std::string(without_calls(error.what())); }
    return "nothing";
  };
  EXPECT_EQ(sentence("a(b"), "ArgumentError: the pattern 'a(b' has a ( that is not closed at character 4");
  EXPECT_EQ(sentence("a)"), "ArgumentError: the pattern 'a)' has a ) that closes nothing at character 2");
  EXPECT_EQ(sentence("*a"), "ArgumentError: the pattern '*a' has nothing to repeat at character 1");
  EXPECT_EQ(sentence("[a"), "ArgumentError: the pattern '[a' has a [ that is not closed at character 3");
  EXPECT_EQ(sentence("[b-a]"),
            "ArgumentError: the pattern '[b-a]' has a range that ends before it begins at character 5");
  EXPECT_EQ(sentence("a{3,1}"),
            "ArgumentError: the pattern 'a{3,1}' has a repetition that is not like {2}, {2,} or {2,5} at character 7");
  EXPECT_EQ(sentence("(?=a)"), "ArgumentError: the pattern '(?=a)' has an unknown kind of group at character 3");
  EXPECT_EQ(sentence("\\b"), "ArgumentError: the pattern '\\b' has an unknown escape, \\b, at character 2");
  EXPECT_EQ(sentence("a\\"), "ArgumentError: the pattern 'a\\' has a \\ at the end at character 3");
  EXPECT_NE(sentence(std::string(1000, '(')).find("more than 100 nested groups"), std::string::npos);
  EXPECT_NE(sentence("((a{1000}){1000}){1000}").find("too many repetitions"), std::string::npos);
}

}  // namespace
}  // namespace kiln
