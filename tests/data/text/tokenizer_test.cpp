#include "kiln/data/text/tokenizer.hpp"

#include <gtest/gtest.h>

#include "kiln/core/random.hpp"
#include "kiln/data/text/split.hpp"
#include "kiln/data/text/unicode.hpp"

#include "tests/data/raised.hpp"
#include "tests/data/temporary_directory.hpp"
#include "tests/data/text/figures.hpp"

namespace kiln {
namespace {

using test::raised;
using Ids = std::vector<std::int64_t>;

Tokenizer parsed(std::string_view json) { return Tokenizer::from_json(parse_json(json, "t.json"), "t.json"); }

class Reference : public testing::TestWithParam<std::string> {};

TEST_P(Reference, MakesTheSameTokensAndTexts) {
  const Tokenizer tokenizer = parsed(test::tokenizer_json(GetParam()));
  for (const auto& [text, ids, decoded] : test::encoded_by(GetParam())) {
    EXPECT_EQ(tokenizer.encode(text), ids) << text;
    EXPECT_EQ(tokenizer.decode(ids), decoded) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Tokenizer, Reference,
                         testing::Values("ByteLevel", "WordPieces", "Llama", "Gpt4", "Qwen", "Words"),
                         [](const auto& name) { return name.param; });

TEST(Tokenizer, IsTrainedAsTheReferenceIs) {
  const Tokenizer trained =
      train_byte_pairs(in_memory(test::tokenizer_figures().training), {.vocabulary = 330, .special = {"<|end|>"}});
  const Tokenizer reference = parsed(test::tokenizer_json("ByteLevel"));
  ASSERT_EQ(trained.size(), reference.size());
  for (std::int64_t id = 0; id < trained.size(); ++id) EXPECT_EQ(trained.token(id), reference.token(id)) << id;
  for (const auto& [text, ids, decoded] : test::encoded_by("ByteLevel")) EXPECT_EQ(trained.encode(text), ids) << text;
}

TEST(Tokenizer, IsSavedAndLoaded) {
  const test::TemporaryDirectory directory;
  const Tokenizer trained = train_byte_pairs(in_memory(test::tokenizer_figures().training), {.vocabulary = 300});
  trained.save(directory.file("tokenizer.json"));
  const Tokenizer loaded = Tokenizer::load(directory.file("tokenizer.json"));
  EXPECT_EQ(loaded.size(), 300);
  for (const auto& one : test::encoded_by("ByteLevel")) EXPECT_EQ(loaded.encode(one.text), trained.encode(one.text));
}

TEST(Tokenizer, ReadsTheFilesOfGpt2AndBert) {
  const test::TemporaryDirectory directory;
  const std::string vocabulary =
      directory.write("vocab.json", R"({"a":0,"b":1,"c":2,"ab":3,"\u0120":4,"\u0120ab":5,"<|endoftext|>":6})");
  const std::string merges = directory.write("merges.txt", "#version: 0.2\na b\n\xc4\xa0 ab\n");
  const Tokenizer gpt2 = Tokenizer::gpt2(vocabulary, merges);
  EXPECT_EQ(gpt2.encode("abc abb<|endoftext|>"), (Ids{3, 2, 5, 1, 6}));
  EXPECT_EQ(gpt2.decode(Ids{5, 2, 6}), " abc");
  EXPECT_EQ(gpt2.decode(Ids{5, 2, 6}, false), " abc<|endoftext|>");
  directory.write("merges.txt", "a x\n");
  EXPECT_EQ(raised<DataError>([&] { Tokenizer::gpt2(vocabulary, merges); }),
            vocabulary + " and " + merges +
                ": 'model.merges[0]' joins 'a' and 'x', of which one is not a token, or the result is not");

  const std::string words = directory.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\nwor\n##ld\n!\n");
  const Tokenizer bert = Tokenizer::bert(words);
  EXPECT_EQ(bert.encode("H\xc3\xa9llo WORLD! [MASK] x"), (Ids{2, 5, 6, 7, 8, 4, 1, 3}));
  EXPECT_EQ(bert.encode("hello", false), (Ids{5}));
  EXPECT_EQ(bert.decode(Ids{2, 5, 6, 7, 8, 3}), "hello world!");
  EXPECT_EQ(Tokenizer::bert(words, false).encode("Hello", false), (Ids{1}));
  directory.write("vocab.txt", "[CLS]\n\n");
  EXPECT_EQ(raised<DataError>([&] { Tokenizer::bert(words); }), words + ":2: an empty line is no token");
}

TEST(Tokenizer, TakesLettersForTokens) {
  const Tokenizer letters = Tokenizer::characters("hello \xc3\xa9");
  EXPECT_EQ(letters.size(), 6);
  EXPECT_EQ(letters.encode("oh\xc3\xa9z"), (Ids{4, 2, 5}));  // " ", "e", "h", "l", "o", "é"
  EXPECT_EQ(letters.decode(letters.encode("hello h")), "hello h");
  EXPECT_EQ(raised<DataError>([&] { letters.id("z"); }), "tokenizer: has no token 'z'");
  EXPECT_EQ(raised<IndexError>([&] { letters.token(6); }), "tokenizer: token 6 of 6 does not exist");
  EXPECT_THROW(letters.decode(Ids{-1}), IndexError);
}

TEST(Tokenizer, TakesBytesForTokens) {
  const Tokenizer bytes = Tokenizer::bytes();
  EXPECT_EQ(bytes.size(), 256);
  const std::string_view text = "a \xc3\xa9\n\xff";
  EXPECT_EQ(bytes.encode(text), (Ids{97, 32, 0xc3, 0xa9, 10, 0xff}));
  Ids all;
  std::string every;
  for (std::int64_t byte = 0; byte < 256; ++byte) {
    all.push_back(byte);
    every += static_cast<char>(byte);
  }
  EXPECT_EQ(bytes.decode(all), every);
  EXPECT_EQ(bytes.encode(every), all);
}

TEST(Tokenizer, TakesWordsForTokensAsTheReferenceDoes) {
  const Tokenizer trained = train_words(in_memory(test::tokenizer_figures().training), {.lowercase = true});
  const Tokenizer reference = parsed(test::tokenizer_json("Words"));
  ASSERT_EQ(trained.size(), reference.size());
  for (std::int64_t id = 0; id < trained.size(); ++id) EXPECT_EQ(trained.token(id), reference.token(id)) << id;
  for (const auto& [text, ids, decoded] : test::encoded_by("Words")) {
    EXPECT_EQ(trained.encode(text), ids) << text;
    EXPECT_EQ(trained.decode(ids), decoded) << text;
  }
  const std::vector<std::string> texts = {"b a b", "a c! B"};
  const Tokenizer few = train_words(in_memory(texts), {.vocabulary = 3, .special = {"?"}});
  EXPECT_EQ(few.encode("b a c B"), (Ids{2, 1, 0, 0}));
  EXPECT_EQ(train_words(in_memory(texts), {.least = 2, .special = {}}).encode("b x a"), (Ids{1, 0}));
  EXPECT_EQ(raised<ArgumentError>([&] { train_words(in_memory(texts), {.vocabulary = 0}); }),
            "words: a vocabulary of 0 does not hold 1 special tokens");
  EXPECT_EQ(raised<ArgumentError>([&] { train_words(in_memory(texts), {.special = {"x", "x"}}); }),
            "words: the special token 'x' is empty or named twice");
}

TEST(Tokenizer, GivesEveryTextBack) {
  const Tokenizer tokenizer = parsed(test::tokenizer_json("ByteLevel")), gpt4 = parsed(test::tokenizer_json("Gpt4"));
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    std::string text;
    for (std::int64_t count = random.below(30); count > 0; --count) {
      const std::string_view some[] = {
          " ", "\n", "a", "the", "\xc3\xa9", "7", "'s", "\xff", "\xf0\x9f\x99\x82", "\xe3\x80\x80", "-"};
      text += some[random.below(std::ssize(some))];
    }
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
    EXPECT_EQ(gpt4.decode(gpt4.encode(text)), text);
  }
}

TEST(Tokenizer, TakesNoLongerForLongWords) {
  const Tokenizer tokenizer = parsed(test::tokenizer_json("ByteLevel"));
  const std::string word(2'000'000, 'x');  // quadratic time would be hours
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(word)), word);
}

TEST(Tokenizer, SaysWhatItDoesNotKnow) {
  const auto refused = [](std::string_view json) { return raised<DataError>([&] { parsed(json); }); };
  EXPECT_EQ(refused("[]"), "t.json: the file must be an object, got a list");
  EXPECT_EQ(refused("{}"), "t.json: the file has no 'model'");
  EXPECT_EQ(refused(R"({"model": {"type": "Bigram"}})"),
            "t.json: 'model' is a model 'Bigram', which is not supported; BPE, Unigram, WordPiece and WordLevel are");
  EXPECT_EQ(refused(R"({"model": {"vocab": {"a": -1}, "merges": []}})"),
            "t.json: 'model.vocab.a' must be 0 to 2147483647, got -1");
  EXPECT_EQ(refused(R"({"model": {"vocab": {"a": 0, "b": 0}, "merges": []}})").substr(0, 37),
            "t.json: the file has two tokens of id");
  EXPECT_EQ(refused(R"({"model": {"vocab": {"a": 2000000000}, "merges": []}})"),
            "t.json: the file gives 'a' the id 2000000000, and has only 1 tokens");
  EXPECT_EQ(refused(R"({"model": {"vocab": {"a": 0}, "merges": ["aa"]}})"),
            "t.json: 'model.merges[0]' must be two tokens, got 'aa'");
  EXPECT_EQ(refused(R"({"model": {"vocab": {"a": 0}, "merges": []}, "normalizer": {"type": "NFX"}})"),
            "t.json: 'normalizer' is a normalizer 'NFX', which is not supported");
  EXPECT_EQ(
      refused(R"({"model": {"vocab": {}, "merges": []}, "pre_tokenizer": {"type": "UnicodeScripts"}})"),
      "t.json: 'pre_tokenizer' cuts where scripts change, which is not supported; cut by Metaspace or by a pattern "
      "of \\p{Han} and the like");
  EXPECT_EQ(refused(R"({"model": {"vocab": {}, "merges": [], "dropout": 0.1}})"),
            "t.json: 'model.dropout' leaves merges out at random, which is not supported; a tokenizer in use has null");
  EXPECT_EQ(refused(R"({"model": {"type": "WordPiece", "vocab": {"a": 0}, "unk_token": "u"}})"),
            "t.json: 'model.unk_token' is 'u', which is no token");
  EXPECT_EQ(raised<ArgumentError>(
                [] { train_byte_pairs(in_memory(test::tokenizer_figures().training), {.vocabulary = 100}); }),
            "byte pairs: a vocabulary of 100 does not hold 256 bytes and 1 special tokens");
}

TEST(Tokenizer, EndsInDataErrorsWhateverTheFile) {
  for (const std::string& sound : {test::tokenizer_json("Llama"), test::tokenizer_json("WordPieces")}) {
    int read = 0, refused = 0;
    for (std::uint64_t seed = 0; seed < 5'000; ++seed) {
      Random random(seed);
      std::string json = sound;
      for (std::int64_t changes = 1 + random.below(3); changes > 0; --changes) {
        // Mostly behind the vocabulary, which is what most of the file is, or before it.
        const std::int64_t at = random.below(2) ? random.below(900) : random.below(std::ssize(json));
        json[static_cast<std::size_t>(at)] = "\"{}[]:,0a\\ "[random.below(11)];
      }
      try {
        parsed(json).encode("The fox \xff");
        ++read;
      } catch (const DataError&) { ++refused; } catch (const ConfigError&) {
        ++refused;
      }
    }
    EXPECT_GT(read, 80);
    EXPECT_GT(refused, 1600);
  }
}

TEST(Unicode, DecodesOrReplaces) {
  EXPECT_EQ(unicode::repaired("a\xc3\xa9\xf0\x9f\x99\x82"), "a\xc3\xa9\xf0\x9f\x99\x82");
  // Overlong, surrogate, beyond the last, cut off, a tail alone.
  for (const std::string_view wrong : {"\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80", "\xff"})
    EXPECT_EQ(unicode::decode(wrong, 0).point, unicode::kReplacement);
  EXPECT_TRUE(unicode::is_letter(U'\u4e16') && unicode::is_letter(U'\u00e9') && !unicode::is_letter(U'1'));
  EXPECT_TRUE(unicode::is_number(U'\u00bd') && unicode::is_mark(U'\u0301') && unicode::is_punctuation(U'\u3002'));
  EXPECT_EQ(unicode::lower(U'\u0178'), U'\u00ff');
  EXPECT_EQ(unicode::lower(U'\u0101'), U'\u0101');
}

}  // namespace
}  // namespace kiln
