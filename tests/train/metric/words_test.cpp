// Metrics of texts against torchmetrics and NLTK.
#include <gtest/gtest.h>

#include "kiln/core/config/config.hpp"
#include "kiln/core/file.hpp"
#include "kiln/train/metric/meteor.hpp"
#include "kiln/train/metric/stem.hpp"
#include "kiln/train/metric/words.hpp"
#include "tests/support/sentence.hpp"
#include "tests/train/metric/metric_data.hpp"

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

struct BleuCase {
  std::string corpus;
  std::vector<std::string> said;
  std::vector<std::vector<std::string>> right;
  metric::BleuSmoothing smoothing = metric::BleuSmoothing::None;
  std::optional<double> amount{};
  double sacrebleu = 0;
  std::optional<double> nltk{};
};
struct BleuFigures {
  std::string made_with;
  std::vector<BleuCase> cases;
};

TEST(Metrics, SmoothsBleuAsSacrebleuAndNltkDo) {
  const std::string path = KILN_SOURCE_DIR "/tests/train/metric/bleu_figures.json";
  const auto figures = from_json<BleuFigures>(parse_json(read_text_file(path), path), path);
  ASSERT_EQ(figures.cases.size(), 36u);
  for (const BleuCase& each : figures.cases) {
    SCOPED_TRACE(text(each.corpus, ' ', static_cast<int>(each.smoothing), ' ', each.amount.value_or(-1)));
    metric::Bleu bleu{.smoothing = each.smoothing, .amount = each.amount};
    for (std::size_t i = 0; i < each.said.size(); ++i)
      bleu.update(each.said[i], std::vector<std::string_view>(each.right[i].begin(), each.right[i].end()));
    EXPECT_NEAR(bleu.value(), each.sacrebleu, 1e-12);
    EXPECT_NEAR(bleu.value(), each.nltk.value_or(each.sacrebleu), 1e-12);
  }
  metric::Bleu wrong{.smoothing = metric::BleuSmoothing::Floor, .amount = -1};
  EXPECT_EQ(sentence_of([&] { return wrong.update("a", {"a"}), 0; }),
            "ArgumentError: bleu: amount is -1, it must be positive and finite");
  wrong = {.smoothing = metric::BleuSmoothing::Exponential, .amount = 1};
  EXPECT_EQ(sentence_of([&] { return wrong.update("a", {"a"}), 0; }),
            "ArgumentError: bleu: amount is of the smoothings AddK and Floor alone");
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
