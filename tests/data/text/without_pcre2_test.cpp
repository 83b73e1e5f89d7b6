// Linked with kiln/data/text/pattern/without_pcre2.cpp, as builds on machines without libpcre2 are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/data/text/tokenizer.hpp"

#include "tests/data/raised.hpp"
#include "tests/data/text/figures.hpp"

namespace kiln {
namespace {

TEST(WithoutPcre2, PatternsOfGpt4AreKnownAndOthersRefused) {
  const auto read = [](std::string_view json) { return Tokenizer::from_json(parse_json(json, "t.json"), "t.json"); };
  const Tokenizer gpt4 = read(test::tokenizer_json("Gpt4"));
  for (const auto& [text, ids, decoded] : test::encoded_by("Gpt4")) EXPECT_EQ(gpt4.encode(text), ids) << text;
  EXPECT_EQ(
      test::raised<DataError>([&] {
        read(R"({"model": {"vocab": {}, "merges": []}, "pre_tokenizer": {"type": "Split", "behavior": "Isolated",
                    "pattern": {"Regex": "x+"}}})");
      }),
      "t.json: 'pre_tokenizer.pattern.Regex' is a regular expression, and this Kiln was built without libpcre2, which "
      "looks for those; only the patterns of GPT-2, GPT-4, Llama 3 and Qwen are known without it");
}

}  // namespace
}  // namespace kiln
