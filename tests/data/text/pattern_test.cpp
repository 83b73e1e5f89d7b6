// Regular expressions of tokenizers: real ones, each piece of their syntax, and those that would take for ever.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/core/file.hpp"
#include "kiln/data/text/pattern/pattern.hpp"
#include "kiln/data/text/tokenizer.hpp"

#include "tests/data/raised.hpp"

namespace kiln {
namespace {

using test::raised;
using testing::ElementsAre;
using testing::HasSubstr;

tokens::Pattern pattern_of(const std::string& regex) {
  const Json json{Json::Object{{"pattern", {Json::Object{{"Regex", {regex}}}}}}};
  return tokens::Pattern::read({&json, {"t.json", ""}});
}
std::vector<std::string> matches(const std::string& regex, std::string_view text) {
  std::vector<std::string> found;
  for (const auto& [part, matched] : pattern_of(regex).parts(text))
    if (matched) found.emplace_back(part);
  return found;
}
std::string refused(const std::string& regex) {
  return raised<DataError>([&] { pattern_of(regex); });
}

TEST(Pattern, OfCurrentModelsGivesTheirIds) {
  if (!KILN_HAS_PCRE2) GTEST_SKIP() << "this build has no libpcre2";
  for (const std::string name : {"o200k", "digits_deepseek", "padding"}) {
    const std::string file = KILN_TEXTS "/tok_" + name;
    const Tokenizer tokenizer = Tokenizer::load(file + ".json");
    const Json rows = parse_json(read_text_file(file + ".ids.json"), file);
    for (const Json& row : std::get<Json::List>(rows.is)) {
      const auto& object = std::get<Json::Object>(row.is);
      std::vector<std::int64_t> ids;
      for (const Json& id : std::get<Json::List>(object[1].second.is)) ids.push_back(std::get<std::int64_t>(id.is));
      EXPECT_EQ(tokenizer.encode(std::get<std::string>(object[0].second.is)), ids) << name;
    }
  }
}

TEST(Pattern, IsRubysSyntax) {
  if (!KILN_HAS_PCRE2) GTEST_SKIP() << "this build has no libpcre2";
  EXPECT_THAT(matches("b+", "abbab"), ElementsAre("bb", "b"));
  EXPECT_THAT(matches("x*", "axb"), ElementsAre("", "x", ""));
  EXPECT_THAT(matches("(?i)k|L", "aKl"), ElementsAre("K", "l"));
  EXPECT_THAT(matches("a(?i)b|c", "aB aC"), ElementsAre("aB", "aC"));  // the option groups what is behind it
  EXPECT_THAT(matches("^.", "ab\ncd"), ElementsAre("a", "c"));         // lines begin anywhere
  EXPECT_THAT(matches("(?m:a.b)", "a\nb"), ElementsAre("a\nb"));
  EXPECT_THAT(matches("[a-c&&[^b]]+", "abcab"), ElementsAre("a", "ca"));
  EXPECT_THAT(matches("[^a[bc]]", "abcd"), ElementsAre("d"));
  EXPECT_THAT(matches("[\\W_]", "a_b c"), ElementsAre("_", " "));
  EXPECT_THAT(matches("\\h+", "xyzab1"), ElementsAre("ab1"));
  EXPECT_THAT(matches("a{,2}b", "aaab"), ElementsAre("aab"));
  EXPECT_THAT(matches("a{x", "a{x"), ElementsAre("a{x"));
  EXPECT_THAT(matches("\\u00e9|\\x{1F642}", "\xc3\xa9\xf0\x9f\x99\x82"), ElementsAre("\xc3\xa9", "\xf0\x9f\x99\x82"));
  EXPECT_THAT(matches("\\s",
                      "a\xe1\xa0\x8e"
                      "b\xc2\x85"),
              ElementsAre("\xc2\x85"));  // U+180E is none
  EXPECT_THAT(matches("(?<=a)b(?!c)", "abcab"), ElementsAre("b"));
  EXPECT_THAT(matches("[[:digit:]]+", "a12"), ElementsAre("12"));
  EXPECT_THAT(matches("\\p{^L}+", "a12b"), ElementsAre("12"));
  // What is no UTF-8 is one letter that is none, and stays what it was.
  EXPECT_THAT(matches("[^a]+",
                      "a\xff\xfe"
                      "a\xc3"),
              ElementsAre("\xff\xfe", "\xc3"));
}

TEST(Pattern, RefusesWhatItDoesNotKnow) {
  if (!KILN_HAS_PCRE2) GTEST_SKIP() << "this build has no libpcre2";
  EXPECT_THAT(refused("(a"), HasSubstr("'pattern.Regex' is the expression '(a', which does not close a group"));
  EXPECT_THAT(refused("a)"), HasSubstr("closes a group that it does not open"));
  EXPECT_THAT(refused("[a"), HasSubstr("does not close its brackets"));
  EXPECT_THAT(refused("[]"), HasSubstr("has empty brackets"));
  EXPECT_THAT(refused("[b-a]"), HasSubstr("a range that ends before it begins"));
  EXPECT_THAT(refused("(a)\\1"), HasSubstr("has '\\1', which is not supported"));
  EXPECT_THAT(refused("(?x) a"), HasSubstr("has the option 'x'"));
  EXPECT_THAT(refused("(*FAIL)"), HasSubstr("begins a group with '(*'"));
  EXPECT_THAT(refused("a{2}+"), HasSubstr("'+' after a number of repetitions"));
  EXPECT_THAT(refused("a**"), HasSubstr("repeats a repetition"));
  EXPECT_THAT(refused("\\p{Alpha}"), HasSubstr("asks for \\p{Alpha}"));
  EXPECT_THAT(refused("[\\p{C}]"), HasSubstr("asks for \\p{C}, which is not supported"));
  EXPECT_THAT(refused("\\p{Klingon}"), HasSubstr("libpcre2 does not take"));
  EXPECT_THAT(refused("(?<=a+)b"), HasSubstr("libpcre2 does not take"));
  EXPECT_THAT(refused("(?i:\\p{Lu})"), HasSubstr("ignores case"));
  EXPECT_THAT(refused(std::string(200, '(') + std::string(200, ')')), HasSubstr("nests groups more than 100 deep"));
  EXPECT_THAT(refused(std::string(70'000, 'a')), HasSubstr("is longer than 65536 bytes"));
  EXPECT_THAT(refused("(?:(?:a{1,60000}){1,60000}){1,60000}"), HasSubstr("libpcre2 does not take"));
  EXPECT_THAT(raised<DataError>([] {
                const Json json{Json::Object{{"pattern", {Json::Object{}}}}};
                tokens::Pattern::read({&json, {"t.json", ""}});
              }),
              HasSubstr("must have either a 'String' or a 'Regex'"));
}

TEST(Pattern, TakesTimeInProportionOrSaysThatItWouldNot) {
  if (!KILN_HAS_PCRE2) GTEST_SKIP() << "this build has no libpcre2";
  // Runs that are longer than what is looked at first.
  const std::string spaces(300'000, ' '), capitals(300'000, 'A');
  EXPECT_THAT(matches("\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+", spaces + "a"), ElementsAre(spaces.substr(1), " "));
  EXPECT_THAT(matches("\\p{Lu}*\\p{Ll}+|\\p{Lu}+\\p{Ll}*", capitals), ElementsAre(capitals));
  EXPECT_EQ(matches("\\p{N}{1,3}", std::string(30'000, '7')).size(), 10'000u);
  // Those that try all ways, or hold all that they have tried.
  for (const std::string regex : {"(?:a+)+b", "(?:a|a)*b", "(?:a|aa)+b", "(?:a*)*b", "a*a*a*a*a*b"})
    EXPECT_THAT(raised<DataError>([&] { return matches(regex, std::string(3000, 'a') + "cb"); }),
                HasSubstr("takes too many steps on a text of 3002 bytes"))
        << regex;
}

}  // namespace
}  // namespace kiln
