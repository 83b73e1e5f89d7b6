// Added tokens, truncation and padding of a tokenizer.json, each of its fields, and files that ask for too much.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/data/text/tokenizer.hpp"

#include "tests/data/raised.hpp"

namespace kiln {
namespace {

using test::raised;
using testing::HasSubstr;
using Ids = std::vector<std::int64_t>;

Tokenizer from_text(std::string_view json) { return Tokenizer::from_json(parse_json(json, "t.json"), "t.json"); }

/// Words by Lowercase and WhitespaceSplit: [UNK], the, shines, moon; and added tokens.
Tokenizer words(std::string_view added, std::string_view more = "") {
  return from_text(text(R"({"version": "1.0", "added_tokens": [)", added, R"(], "normalizer": {"type": "Lowercase"},
      "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": null, "decoder": null,
      "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "the": 1, "shines": 2, "moon": 3}, "unk_token": "[UNK]"})",
                        more, "}"));
}

TEST(AddedTokens, AreLookedForInTheNormalisedTextWhereTheySaySo) {
  const std::string sun = R"({"id": 4, "content": "sun", "special": false, "normalized": )";
  EXPECT_EQ(words(sun + "true}").encode("the SUN shines Sun sun"), (Ids{1, 4, 2, 4, 4}));
  EXPECT_EQ(words(sun + "false}").encode("the SUN shines Sun sun"), (Ids{1, 0, 2, 0, 4}));
  // What is not said is what goes with other tokens, and not with special ones.
  EXPECT_EQ(words(R"({"id": 4, "content": "Sun"})").encode("SUN"), (Ids{4}));
  EXPECT_EQ(words(R"({"id": 4, "content": "Sun", "special": true})").encode("SUN Sun"), (Ids{0, 4}));
  // Those that stand in the text as it is come first, wherever others would begin.
  EXPECT_EQ(
      words(R"({"id": 4, "content": "the sun", "normalized": true}, {"id": 5, "content": "SUN", "normalized": false})")
          .encode("the SUN the Sun"),
      (Ids{1, 5, 4}));
}

TEST(AddedTokens, TakeTheLongestAndTheSpacesAroundThem) {
  const std::string both = R"({"id": 4, "content": "a"}, {"id": 5, "content": "ab"})";
  EXPECT_EQ(words(both).encode("abaa"), (Ids{5, 4, 4}));
  const auto one = [](std::string_view options) {
    return words(text(R"({"id": 4, "content": "x", )", options, "}")).encode("moon x\xc2\xa0\xe3\x80\x80 moon xx");
  };
  EXPECT_EQ(one(R"("lstrip": true, "rstrip": true)"), (Ids{3, 4, 3, 4, 4}));
  EXPECT_EQ(one(R"("single_word": true)"), (Ids{3, 4, 3, 0}));
  EXPECT_EQ(words(R"({"id": 4, "content": "x", "single_word": true})").encode("\xc3\xa9x x\xc3\xa9 \xc2\xa7x\xc2\xa7"),
            (Ids{0, 0, 0, 4, 0}));
}

TEST(AddedTokens, AreNoSpellingsOfBytes) {
  const Tokenizer tokenizer = from_text(R"({"added_tokens": [{"id": 3, "content": "r\u00f6d", "normalized": false}],
      "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}, "decoder": {"type": "ByteLevel"},
      "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "\u00f6": 2}, "merges": []}})");
  const Ids ids = tokenizer.encode(
      "ar\xc3\xb6"
      "db");
  EXPECT_EQ(ids, (Ids{0, 3, 1}));
  EXPECT_EQ(tokenizer.decode(ids),
            "ar\xc3\xb6"
            "db");
  EXPECT_EQ(tokenizer.decode(Ids{2}), "\xf6");  // of the model's own, a byte
}

TEST(Frame, CutsAndFillsUpAsTheFileSays) {
  const auto encoded = [](std::string_view more) { return words("", text(", ", more)).encode("the moon shines the"); };
  const std::string around =
      R"("post_processor": {"type": "BertProcessing", "cls": ["moon", 3], "sep": ["[UNK]", 0]}, )";
  EXPECT_EQ(encoded(R"("truncation": {"max_length": 3, "strategy": "LongestFirst", "stride": 1})"), (Ids{1, 3, 2}));
  EXPECT_EQ(encoded(R"("truncation": {"max_length": 3, "direction": "Left", "strategy": "OnlyFirst"})"),
            (Ids{3, 2, 1}));
  EXPECT_EQ(encoded(R"("padding": {"strategy": {"Fixed": 6}, "pad_id": 2})"), (Ids{1, 3, 2, 1, 2, 2}));
  EXPECT_EQ(encoded(R"("padding": {"strategy": {"Fixed": 5}, "direction": "Left", "pad_to_multiple_of": 4})"),
            (Ids{0, 0, 0, 0, 1, 3, 2, 1}));
  EXPECT_EQ(encoded(R"("padding": {"strategy": "BatchLongest", "pad_to_multiple_of": 3})"), (Ids{1, 3, 2, 1, 0, 0}));
  EXPECT_EQ(encoded(R"("padding": {"strategy": "BatchLongest"})"), (Ids{1, 3, 2, 1}));
}

TEST(Frame, CountsWhatStandsAroundTexts) {
  const std::string json = R"({"truncation": {"max_length": 4}, "padding": {"strategy": {"Fixed": 5}, "pad_id": 0},
      "pre_tokenizer": {"type": "WhitespaceSplit"},
      "post_processor": {"type": "Sequence", "processors": [
        {"type": "BertProcessing", "cls": ["b", 1], "sep": ["c", 2]},
        {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "d", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
         "pair": [], "special_tokens": {"d": {"id": "d", "ids": [3], "tokens": ["d"]}}}]},
      "model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "c": 2, "d": 3}, "unk_token": "a"}})";
  const Tokenizer tokenizer = from_text(json);
  EXPECT_EQ(tokenizer.encode("c c c"), (Ids{3, 1, 2, 2, 0}));  // the second processor around the first
  EXPECT_EQ(tokenizer.encode("c c c c c", false), (Ids{2, 2, 2, 2, 0}));
  EXPECT_EQ(tokenizer.padding(), 0);
  const Tokenizer bare = tokenizer.without_padding();
  EXPECT_EQ(bare.encode("c c c"), (Ids{3, 1, 2, 2}));
  EXPECT_EQ(bare.padding(), std::nullopt);
  EXPECT_EQ(from_text(write_json(bare.json())).encode("c c c"), (Ids{3, 1, 2, 2}));
}

TEST(Frame, RefusesWhatItDoesNotKnow) {
  const auto refused = [](std::string_view more) { return raised<DataError>([&] { words("", text(", ", more)); }); };
  EXPECT_THAT(refused(R"("truncation": {"max_length": 3, "strategy": "OnlySecond"})"),
              HasSubstr("here a text stands alone"));
  EXPECT_THAT(refused(R"("truncation": {"max_length": 3, "stride": 3})"), HasSubstr("has a stride of 3"));
  EXPECT_THAT(refused(R"("truncation": {"max_length": 3, "direction": "Up"})"),
              HasSubstr("is 'Up', not Left or Right"));
  EXPECT_THAT(refused(R"("truncation": {"max_length": 3, "side": 1})"),
              HasSubstr("'truncation.side' is not known here"));
  EXPECT_THAT(refused(R"("padding": {"strategy": {"Fixed": 20000000}})"), HasSubstr("asks for 20000000 tokens"));
  EXPECT_THAT(refused(R"("padding": {"strategy": "Whole"})"), HasSubstr("is 'Whole', which is not supported"));
  EXPECT_THAT(refused(R"("padding": {"strategy": "BatchLongest", "color": 1})"),
              HasSubstr("'padding.color' is not known"));
  EXPECT_THAT(refused(R"("extra": {})"), HasSubstr("'extra' is not known here"));
  EXPECT_THAT(raised<DataError>([] { words(R"({"id": 4, "content": "x", "shape": "round"})"); }),
              HasSubstr("'added_tokens[0].shape' is not known here"));
}

/// Each object of a sound file with one member more is refused by that member's name.
TEST(Tokenizer, RefusesEachFieldThatItDoesNotKnow) {
  const std::string json =
      R"({"version": "1.0", "truncation": {"max_length": 9, "direction": "Right", "strategy": "OnlyFirst", "stride": 0},
      "padding": {"strategy": {"Fixed": 6}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0, "pad_type_id": 0, "pad_token": "a"},
      "added_tokens": [{"id": 1, "content": "b", "single_word": false, "lstrip": false, "rstrip": false, "normalized": true, "special": false}],
      "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Strip", "strip_left": true, "strip_right": true},
        {"type": "Replace", "pattern": {"String": "x"}, "content": "y"}, {"type": "Prepend", "prepend": "z"}, {"type": "ByteLevel"},
        {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true}]},
      "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Metaspace", "replacement": "_", "prepend_scheme": "always", "split": true},
        {"type": "Split", "pattern": {"String": "x"}, "behavior": "Removed", "invert": false}, {"type": "Digits", "individual_digits": true},
        {"type": "Punctuation", "behavior": "Isolated"}, {"type": "CharDelimiterSplit", "delimiter": "-"}, {"type": "BertPreTokenizer"},
        {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}, {"type": "FixedLength", "length": 3}]},
      "post_processor": {"type": "Sequence", "processors": [{"type": "RobertaProcessing", "sep": ["a", 0], "cls": ["b", 1],
        "trim_offsets": true, "add_prefix_space": true}, {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "a", "type_id": 0}}], "pair": [], "special_tokens": {"a": {"id": "a", "ids": [0], "tokens": ["a"]}}}]},
      "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "WordPiece", "prefix": "##", "cleanup": true},
        {"type": "CTC", "pad_token": "p", "word_delimiter_token": "|", "cleanup": true}, {"type": "BPEDecoder", "suffix": "</w>"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0}, {"type": "Metaspace", "replacement": "_", "prepend_scheme": "always", "split": true}]},
      "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false,
        "byte_fallback": false, "ignore_merges": false, "vocab": {"a": 0}, "merges": []}})";
  from_text(json).encode("ab");
  int objects = 0;
  for (std::size_t at = json.find('{'); at != std::string::npos; at = json.find('{', at + 1)) {
    if (json.compare(at, 4, "{\"a\"") == 0) continue;  // of tokens' names
    std::string more = json;
    more.insert(at + 1, R"("strange": 1, )");
    EXPECT_THAT(raised<DataError>([&] { from_text(more); }), HasSubstr("strange' is not known here"))
        << more.substr(at, 60);
    ++objects;
  }
  EXPECT_EQ(objects, 40);
}

TEST(Tokenizer, MakesNoMoreOfATextThanItNeeds) {
  const auto stages = [](std::string_view stage, int count) {
    std::string list;
    for (int i = 0; i < count; ++i) list += text(i ? ", " : "", stage);
    return list;
  };
  const std::string doubles = R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"})";
  const auto normalised = [&](int count) {
    return from_text(
        text(R"({"model": {"type": "WordLevel", "vocab": {"u": 0}, "unk_token": "u"}, "normalizer": {"type": "Sequence",
        "normalizers": [)",
             stages(doubles, count), "]}}"));
  };
  EXPECT_EQ(normalised(5).encode(std::string(100'000, 'a')), (Ids{0}));
  for (const int count : {30, 256})
    EXPECT_EQ(raised<DataError>([&] { return normalised(count).encode(std::string(100'000, 'a')); }),
              "tokenizer: its stages make more than 64 bytes for each of a text's 100000, which no tokenizer needs");
  EXPECT_THAT(raised<DataError>([&] { normalised(257); }),
              HasSubstr("has 257 stages, more than the 256 that are supported"));
  const Tokenizer letters =
      from_text(text(R"({"model": {"type": "WordLevel", "vocab": {"u": 0}, "unk_token": "u"}, "pre_tokenizer":
      {"type": "Sequence", "pretokenizers": [)",
                     stages(R"({"type": "ByteLevel", "use_regex": false})", 60), "]}}"));
  EXPECT_THAT(raised<DataError>([&] { return letters.encode("\xc3\xa9t\xc3\xa9"); }),
              HasSubstr("its stages make more than 64"));
  const Tokenizer decodes =
      from_text(text(R"({"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}, "decoder":
      {"type": "Sequence", "decoders": [)",
                     stages(doubles, 60), "]}}"));
  EXPECT_THAT(raised<DataError>([&] { return decodes.decode(Ids(1000, 0)); }),
              HasSubstr("its stages make more than 64"));
}

TEST(Tokenizer, TakesNoLongerForLongWordsOfWordPieces) {
  // A word that is cut into pieces of one letter, each by way of all that is left: cubic time would be years.
  const std::string tail(4000, 'a');
  const Tokenizer tokenizer =
      from_text(text(R"({"model": {"type": "WordPiece", "unk_token": "u", "max_input_chars_per_word": 2147483647,
      "vocab": {"u": 0, "a": 1, "##a": 2, "##)",
                     tail, R"(b": 3}}})"));
  const Ids ids = tokenizer.encode(std::string(20'000, 'a'));
  EXPECT_EQ(ids.size(), 20'000u);
  EXPECT_EQ(ids.front(), 1);
  EXPECT_EQ(ids.back(), 2);
  EXPECT_THAT(raised<DataError>([] {
                from_text(text(R"({"model": {"type": "WordPiece", "unk_token": "u", "vocab": {"u": 0, ")",
                               std::string(5000, 'a'), R"(": 1}}})"));
              }),
              HasSubstr("has a token of 5000 bytes, more than the 4096 that are supported"));
}

}  // namespace
}  // namespace kiln
