// Metrics of texts against torchmetrics and NLTK.
#include <gtest/gtest.h>

#include "kiln/train/metric/meteor.hpp"
#include "kiln/train/metric/stem.hpp"
#include "kiln/train/metric/words.hpp"
#include "tests/support/sentence.hpp"
#include "tests/train/metric_data.hpp"

namespace kiln {
namespace {

TEST(Metrics, OfTextsAreTorchmetrics) {
  const std::vector<std::string_view> said = {"the cat sat on the mat today", "a quick brown fox jumped over lazy dogs",
                                              "nothing in common here at all"};
  const std::vector<std::vector<std::string_view>> right = {
      {"the cat is on the mat", "there is a cat that sat on the mat today"},
      {"the quick brown fox jumps over the lazy dog", "a quick brown fox jumped over the lazy dogs"},
      {"what was said was something else", "here at all events is less"}};
  const auto update = [&](auto& m, std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
      m.update(said[i], right[i][0]);
  };
  expect_metric(value_of("CharErrorRate"), metric::CharErrorRate{}, 3, update);
  expect_metric(value_of("WordErrorRate"), metric::WordErrorRate{}, 3, update);
  expect_metric(value_of("Rouge1"), metric::RougeN{}, 3, update);
  expect_metric(value_of("Rouge2"), metric::RougeN{.n = 2}, 3, update);
  expect_metric(value_of("RougeL"), metric::RougeL{}, 3, update);
  const auto all = [&](auto& m, std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) m.update(said[i], right[i]);
  };
  expect_metric(value_of("Bleu"), metric::Bleu{}, 3, all);
  expect_metric(value_of("ChrF"), metric::ChrF{}, 3, all);
  expect_metric(value_of("ChrFWords"), metric::ChrF{.words = 2}, 3, all);
  expect_metric(value_of("Meteor"), metric::Meteor{}, 3, all);
  metric::CharErrorRate characters;
  characters.update("nave\xff", "naïve");  // two edits of five characters, though of six bytes
  EXPECT_DOUBLE_EQ(characters.value(), 2.0 / 5);
}

TEST(Metrics, StemsArePorters) {
  ASSERT_EQ(metric_figures().stems.size(), 86u);
  for (const auto& [word, stem] : metric_figures().stems) EXPECT_EQ(metric::stem(word), stem) << word;
  for (const char* const word : {"", "na\xc3\xafves", "Dogs", "1990s"}) EXPECT_EQ(metric::stem(word), word);
}

TEST(Metrics, OfNoTextsGetSentences) {
  EXPECT_EQ(sentence_of([] { return metric::Bleu{}.value(); }), "ArgumentError: bleu: nothing was measured");
  EXPECT_EQ(sentence_of([] { return metric::ChrF{}.value(); }), "ArgumentError: chrf: nothing was measured");
  EXPECT_EQ(sentence_of([] { return metric::Meteor{}.value(); }), "ArgumentError: meteor: nothing was measured");
  metric::ChrF chrf;
  metric::Meteor meteor;
  EXPECT_EQ(sentence_of([&] { return chrf.update("a", {}), 0; }), "ArgumentError: chrf: a text without a reference");
  EXPECT_EQ(sentence_of([&] { return meteor.update("a", {}), 0; }),
            "ArgumentError: meteor: a text without a reference");
  chrf.update("", {"abc"});  // nothing was said
  EXPECT_EQ(chrf.value(), 0);
  meteor.update("", {""});
  EXPECT_EQ(meteor.value(), 0);
}

}  // namespace
}  // namespace kiln
