// RegexFullMatch: what RE2's documentation says of its syntax, std::regex where both know it, and hostile patterns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <regex>

#include "kiln/core/error/trace.hpp"
#include "kiln/onnx/apply.hpp"

namespace kiln::onnx {
namespace {

bool matches(std::string_view pattern, std::string_view word) {
  const Datum words = Datum::of_strings({1}, {std::string(word)}, Device::cpu());
  return apply("RegexFullMatch", 20, {words}, {{"pattern", pattern}}).datum.value().data().at(0) != 0;
}
std::string why_not(std::string_view pattern) {
  try {
    (void)matches(pattern, "");
  } catch (const ArgumentError& error) { return std::string(without_calls(error.what())); }
  ADD_FAILURE() << pattern.substr(0, 60);
  return {};
}

class Regex : public testing::Test {
 protected:
  void SetUp() override {
    if (!KILN_HAS_RE2) GTEST_SKIP() << "this build has no RE2";
  }
};

TEST_F(Regex, MatchesWhatItsSyntaxSays) {
  struct {
    std::string_view pattern;
    std::vector<std::string_view> words, others;
  } const cases[] = {
      {"", {""}, {"a"}},
      {"a.c", {"abc", "a\u00e9c", "a.c"}, {"ac", "a\nc", "abbc", "xabc"}},
      {"(?s)a.c", {"a\nc"}, {"ac"}},
      {"[a-cx]", {"a", "b", "x"}, {"d", "-", ""}},
      {"[^a-c]", {"d", "\n", "\u00e9"}, {"a", "b", "dd"}},
      {"[]a-]+", {"]a-", "-"}, {"b"}},
      {"[\\]\\\\^]", {"]", "\\", "^"}, {"a"}},
      {"\\d\\D\\w\\W\\s\\S", {"1a_- x", "0xZ.\tq"}, {"aaa- x", "1a_-xx"}},
      {"[\\d\\s]+", {"1 2\n3"}, {"1a"}},
      {"[[:alpha:]]+[[:^digit:]]", {"ab-", "abc"}, {"ab1", "1b-"}},
      {"ab|cd|", {"ab", "cd", ""}, {"abcd", "a"}},
      {"(ab|c)*d", {"d", "abcabd", "cccd"}, {"ad", "abc"}},
      {"(?:ab)+|(?P<name>x)?", {"abab", "x", ""}, {"aba", "xx"}},
      {"a{2}b{1,}c{0,2}", {"aab", "aabbbcc"}, {"ab", "aabccc", "aaab"}},
      {"\\pL+\\p{Greek}", {"a\u00e9\u03bb"}, {"1\u03bb", "ab"}},
      {"(?i)\u00c9", {"\u00e9", "\u00c9"}, {"e"}},
      {"a{,2}", {"a{,2}"}, {"a", "aa"}},
      {"a*?b+?c??", {"b", "aabbc"}, {"ac"}},
      {"^ab$", {"ab"}, {"ab\n"}},
      {"(?m)a\\n^b$\\nc", {"a\nb\nc"}, {"a\nb\n"}},
      {"a\\n^b", {}, {"a\nb"}},
      {"\\Aab\\z", {"ab"}, {"abc"}},
      {"\\bab\\b.*", {"ab", "ab c"}, {"abc"}},
      {"a\\Bb", {"ab"}, {}},
      {".*\\b\\d+\\b.*", {"on 12 days", "12"}, {"on a12 days"}},
      {"(?i)straw[b]ERRY", {"STRAWBERRY", "strawberry"}, {"strawberri"}},
      {"(?i)[^a]", {"b", "B"}, {"a", "A"}},
      {"a(?i)b(?-i)c", {"aBc", "abc"}, {"ABc", "aBC"}},
      {"(?i:a)b", {"Ab"}, {"AB"}},
      {"\\x41\\x{e9}\\101\\t\\.", {"A\u00e9A\t."}, {"A\u00e9A\t!"}},
      {"\\Qa.b*\\E*", {"a.b", "a.b**"}, {"axb"}},
      {"[\u03b1-\u03c9]+", {"\u03bb\u03bf\u03b3"}, {"log"}},
      {"(\\W|^)[\\w.\\-]{0,25}@(yahoo|gmail)\\.com(\\W|$)", {"account@gmail.com", " x.y@yahoo.com!"}, {"not email"}},
  };
  for (const auto& [pattern, words, others] : cases) {
    for (const std::string_view word : words) EXPECT_TRUE(matches(pattern, word)) << pattern << " and " << word;
    for (const std::string_view word : others) EXPECT_FALSE(matches(pattern, word)) << pattern << " and " << word;
  }
}

TEST_F(Regex, SaysWhatIsNoPattern) {
  for (const char* const pattern : {"(", ")", "a)", "[a", "[b-a]", "*a", "a**", "a{1001}", "a{3,2}", "\\", "\\1",
                                    "\\pX", "(?<>a)", "(?z)", "[[:none:]]", "\\x{110000}", "\\xg", "[a-\\d]", "(?=a)"})
    EXPECT_NE(why_not(pattern), "") << pattern;
}

std::string random_pattern(std::mt19937& random, int depth) {
  const auto any = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  std::string pattern;
  for (int i = any(4); i >= 0; --i) {
    static constexpr const char* kAtoms[] = {"a", "b", "c", ".", "[ab]", "[^a]", "\\w", "\\d", "\\b", "\\B", "^", "$"};
    const bool group = depth > 0 && any(3) == 0;
    const int atom = any(12);
    pattern += group ? '(' + random_pattern(random, depth - 1) + ')' : kAtoms[atom];
    static constexpr const char* kRepeats[] = {"", "", "", "*", "+", "?", "{2}", "{0,2}", "{1,}", "*?"};
    if (group || atom < 8) pattern += kRepeats[any(10)];
    if (any(6) == 0) pattern += '|';
  }
  return pattern;
}

TEST_F(Regex, AgreesWithTheStandardLibrary) {
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    const std::string pattern = random_pattern(random, 2);
    const std::regex reference(pattern, std::regex::ECMAScript | std::regex_constants::__polynomial);
    for (int j = 0; j < 20; ++j) {
      std::string word;
      for (int k = static_cast<int>(random() % 6); k > 0; --k) word += "abc1 "[random() % 5];
      EXPECT_EQ(matches(pattern, word), std::regex_match(word, reference)) << pattern << " and '" << word << '\'';
    }
  }
}

TEST_F(Regex, TakesTimeThatGrowsWithPatternAndWord) {
  const std::string many(20000, 'a');
  EXPECT_FALSE(matches("(a*)*b", many));  // exponential for who goes back
  EXPECT_FALSE(matches("(a|aa)+$b", many));
  EXPECT_TRUE(matches("(x+x+)+y|a*", many));
  EXPECT_TRUE(matches(std::string(1000, 'a') + "*", std::string(5000, 'a')));
  std::string choices = "b";
  for (int i = 0; i < 2000; ++i) choices += "|a";
  EXPECT_TRUE(matches('(' + choices + ")*", std::string(200, 'a')));
  // Patterns that would take more memory than they may.
  using testing::HasSubstr;
  EXPECT_THAT(why_not("((a{1000}){1000}){1000}"), HasSubstr("RE2 does not take the pattern"));
  EXPECT_THAT(why_not("(((){1000}){1000}){1000}"), HasSubstr("RE2 does not take the pattern"));
  EXPECT_THAT(why_not("((\\pL{100}){10}|" + std::string(400'000, 'a') + ")"), HasSubstr("pattern too large"));
  // Versions of RE2 differ in how deep groups may be.
  try {
    EXPECT_FALSE(matches(std::string(200'000, '(') + std::string(200'000, ')'), "a"));
  } catch (const ArgumentError& error) { EXPECT_THAT(error.what(), HasSubstr("RE2 does not take the pattern")); }
}

TEST_F(Regex, MatchesNoBytesThatAreNoUtf8) {
  EXPECT_FALSE(matches("a..", "a\xff\xc3"));
  EXPECT_NE(why_not("a\xff"), "");
  EXPECT_TRUE(matches("a.b", std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace kiln::onnx
