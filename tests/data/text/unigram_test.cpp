// Unigram models and normal forms against the reference library, Python and SentencePiece.
#include "kiln/data/text/unigram.hpp"

#include <gtest/gtest.h>

#include "kiln/core/random.hpp"
#include "kiln/data/text/normal.hpp"
#include "kiln/data/text/tokenizer.hpp"
#include "kiln/data/text/unicode.hpp"

#include "tests/data/damaged.hpp"
#include "tests/data/raised.hpp"
#include "tests/data/text/figures.hpp"

namespace kiln {
namespace {

using test::raised;
using Ids = std::vector<std::int64_t>;

Tokenizer parsed(std::string_view json) { return Tokenizer::from_json(parse_json(json, "t.json"), "t.json"); }

class UnigramReference : public testing::TestWithParam<std::string> {};

TEST_P(UnigramReference, MakesTheSameTokensAndTexts) {
  const Tokenizer tokenizer = parsed(test::tokenizer_json(GetParam()));
  for (const auto& [text, ids, decoded] : test::entry_of(test::unigram_figures().encoded, GetParam())) {
    EXPECT_EQ(tokenizer.encode(text), ids) << text;
    EXPECT_EQ(tokenizer.decode(ids), decoded) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Tokenizer, UnigramReference, testing::Values("Unigram", "UnigramBytes", "SentencePiece"),
                         [](const auto& name) { return name.param; });

class Samples : public testing::TestWithParam<std::string> {};

TEST_P(Samples, OfShakespeareAndNewsAreTheSameTokens) {
  const Tokenizer tokenizer = parsed(test::tokenizer_json(GetParam()));
  const std::vector<std::string>& samples = test::unigram_figures().samples;
  const std::vector<Ids>& ids = test::entry_of(test::unigram_figures().ids_of_samples, GetParam());
  ASSERT_EQ(ids.size(), samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) EXPECT_EQ(tokenizer.encode(samples[i]), ids[i]) << samples[i];
}

INSTANTIATE_TEST_SUITE_P(Tokenizer, Samples,
                         testing::Values("ByteLevel", "WordPieces", "Llama", "Gpt4", "Qwen", "Words"),
                         [](const auto& name) { return name.param; });

TEST(NormalForms, AreThoseOfTheReference) {
  using unicode::NormalForm;
  ASSERT_FALSE(test::unigram_figures().normal_forms.empty());
  for (const auto& [text, c, d, kc, kd] : test::unigram_figures().normal_forms) {
    EXPECT_EQ(unicode::normalized(text, NormalForm::C), c) << text;
    EXPECT_EQ(unicode::normalized(text, NormalForm::D), d) << text;
    EXPECT_EQ(unicode::normalized(text, NormalForm::KC), kc) << text;
    EXPECT_EQ(unicode::normalized(text, NormalForm::KD), kd) << text;
  }
  EXPECT_EQ(unicode::normalized("a\xff", NormalForm::C), "a\xef\xbf\xbd");
}

/// FNV-1a of each point below U+30000 with marks that change places and join with it.
std::uint64_t hash_of(unicode::NormalForm form) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (char32_t point = 0; point < 0x30000; ++point) {
    if (point >= 0xd800 && point < 0xe000) continue;
    std::string text;
    for (const char32_t one : {point, U'\u0327', U'\u0301', point, U'\u0338', U'x'}) unicode::append(text, one);
    for (const char byte : unicode::normalized(text, form))
      hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return hash;
}

TEST(NormalForms, AreThoseOfTheReferenceOnEveryPoint) {
  // hashes of what the normalizers NFC, NFD, NFKC and NFKD of tokenizers 0.23 make of them
  EXPECT_EQ(hash_of(unicode::NormalForm::C), 0x74e746aaac1cc501u);
  EXPECT_EQ(hash_of(unicode::NormalForm::D), 0x21a9bff68f02805du);
  EXPECT_EQ(hash_of(unicode::NormalForm::KC), 0xdb39ad3b68b59d24u);
  EXPECT_EQ(hash_of(unicode::NormalForm::KD), 0x437f9cf48513f1bdu);
}

TEST(Unigram, TakesTheLikeliestTokens) {
  Unigram model;
  for (const auto& [token, score] : std::vector<std::pair<std::string, double>>{
           {"<unk>", 0}, {"a", -1}, {"b", -1}, {"ab", -3}, {"abc", -1.5}, {"c", -5}, {"bc", -0.4}})
    model.add(token, score);
  const auto encoded = [&](std::string_view word) {
    Ids ids;
    model.encode(word, ids);
    return ids;
  };
  EXPECT_EQ(encoded("ab"), (Ids{1, 2}));   // -2, not -3
  EXPECT_EQ(encoded("abc"), (Ids{1, 6}));  // -1.4, not -1.5
  EXPECT_EQ(encoded("abcc"), (Ids{1, 6, 5}));
  EXPECT_TRUE(encoded("").empty());
  EXPECT_EQ(raised<DataError>([&] { encoded("axyb"); }),
            "tokenizer: no token has the characters 'xy', and there is no unknown token");
  model.unknown = 0;
  EXPECT_EQ(encoded("axyb"), (Ids{1, 0, 2}));  // two letters, one unknown
  EXPECT_EQ(encoded("xay"), (Ids{0, 1, 0}));
}

TEST(Unigram, TakesAnUnknownWhereNothingElseGoes) {
  Unigram model;
  for (const auto& [token, score] :
       std::vector<std::pair<std::string, double>>{{"<unk>", 0}, {"xa", -3}, {"by", -3}, {"aby", -1}})
    model.add(token, score);
  model.unknown = 0;
  Ids ids;
  model.encode("xaby", ids);
  EXPECT_EQ(ids, (Ids{1, 2}));  // -6; an unknown x is 10 less likely than the least likely token
}

TEST(Unigram, TakesNoLongerForLongWords) {
  const Tokenizer tokenizer = parsed(test::tokenizer_json("Unigram"));
  const std::string word(1'000'000, 's');  // quadratic time would be hours
  EXPECT_GT(tokenizer.encode(word).size(), 1000u);
}

TEST(Unigram, SaysWhatIsWrong) {
  const auto refused = [](const std::string& model, const std::string& more = "") {
    return raised<DataError>([&] { parsed(R"({"model": {"type": "Unigram", )" + model + "}" + more + "}"); });
  };
  EXPECT_EQ(refused(R"("unk_id": 0)"), "t.json: 'model' has no 'vocab'");
  EXPECT_EQ(refused(R"("vocab": {"a": 1})"), "t.json: 'model.vocab' must be a list, got an object");
  EXPECT_EQ(refused(R"("vocab": [["a"]])"), "t.json: 'model.vocab[0]' must be a token and its score");
  EXPECT_EQ(refused(R"("vocab": [["a", "b"]])"), "t.json: 'model.vocab[0][1]' must be a number, got \"b\"");
  EXPECT_EQ(refused(R"("vocab": [["a", 0], ["a", -1.5]])"), "t.json: 'model.vocab[1]' is the second token 'a'");
  EXPECT_EQ(refused(R"("vocab": [["a", 0]], "unk_id": 1)"), "t.json: 'model.unk_id' is 1, which is no token");
  const std::string vocabulary = R"("vocab": [["a", 0]])";
  EXPECT_EQ(
      refused(vocabulary, R"(, "pre_tokenizer": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "x"})"),
      "t.json: 'pre_tokenizer.prepend_scheme' is 'x', not always, first or never");
  EXPECT_EQ(refused(vocabulary, R"(, "pre_tokenizer": {"type": "Metaspace", "replacement": "__"})"),
            "t.json: 'pre_tokenizer' replaces spaces by '__'");
  const auto charsmap = [&](const std::string& base64) {
    return refused(vocabulary, R"(, "normalizer": {"type": "Precompiled", "precompiled_charsmap": ")" + base64 + "\"}");
  };
  EXPECT_EQ(charsmap("!"), "t.json: 'normalizer.precompiled_charsmap' is no base64");
  for (const char* const none : {"", "AAAA", "AAAAAA==", "/////wAA", "BQAAAAAAAAAA"})
    EXPECT_EQ(charsmap(none), "t.json: 'normalizer.precompiled_charsmap' is no table of replacements");
}

TEST(Unigram, EndsInDataErrorsWhateverTheFile) {
  const std::string sound = test::tokenizer_json("SentencePiece");
  const std::size_t table = sound.find("precompiled_charsmap") + 23;
  int read = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    Random random(seed);
    std::string json = sound;
    for (std::int64_t changes = 1 + random.below(3); changes > 0; --changes) {
      const bool in_table = random.below(3) > 0;
      const std::size_t at =
          (in_table ? table : 0) + static_cast<std::size_t>(random.below(in_table ? 1200 : std::ssize(json) - 1));
      json[at] = in_table ? "ABCDabcd0123+/"[random.below(14)] : "\"{}[]:,0a\\ "[random.below(11)];
    }
    try {
      parsed(json).encode("The \xef\xac\x81sh e\xcc\x81 \xc2\xbd fox \xff");
      ++read;
    } catch (const DataError&) { ++refused; } catch (const ConfigError&) {
      ++refused;
    }
  }
  EXPECT_GT(read, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace kiln
