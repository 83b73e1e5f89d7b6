// Texts as numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/language/vocabulary.hpp"
#include "tests/data/raised.hpp"

namespace kiln::models {
namespace {

using test::raised;
using testing::ElementsAre;

TEST(Characters, AreNumberedInTheirOrder) {
  const Characters letters("banana bread");
  EXPECT_EQ(letters.size(), 7);  // " abdenr"
  EXPECT_THAT(letters.encode("bad "), ElementsAre(2, 1, 3, 0));
  EXPECT_EQ(letters.decode(letters.encode("a brand")), "a brand");
  EXPECT_EQ(raised<DataError>([&] { letters.encode("bz"); }),
            "the character 'z' is not one of the 7 that the model has");
  EXPECT_EQ(raised<IndexError>([&] { letters.decode(std::vector<std::int64_t>{7}); }),
            "token 7 is not one of 7 letters");
}

TEST(Vocabulary, HasTheFrequentWordsFirst) {
  const std::vector<std::vector<std::string>> texts = {{"b", "a", "c"}, {"a", "b", "a"}};
  const Vocabulary all(texts, 1, 10), often(texts, 2, 10), one(texts, 1, 1);
  EXPECT_EQ(all.size(), 5);
  EXPECT_THAT(all.encode(texts[0]), ElementsAre(3, 2, 4));
  EXPECT_THAT(often.encode(texts[0]), ElementsAre(3, 2, Vocabulary::kUnknown));
  EXPECT_THAT(one.encode(texts[0]), ElementsAre(Vocabulary::kUnknown, 2, Vocabulary::kUnknown));
}

TEST(Vocabulary, IsMadeAgainOfItsWords) {
  const std::vector<std::vector<std::string>> texts = {{"b", "a", "c"}, {"a", "b", "a"}};
  const Vocabulary all(texts, 1, 10);
  EXPECT_THAT(all.words(), ElementsAre("a", "b", "c"));
  const Vocabulary again(all.words());
  EXPECT_EQ(again.size(), 5);
  EXPECT_EQ(again.encode(texts[0]), all.encode(texts[0]));
  EXPECT_THAT(again.words(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(raised<DataError>([] { Vocabulary(std::vector<std::string>{"a", "b", "a"}); }),
            "Vocabulary: the word 'a' is there twice");
}

TEST(Words, AreRunsOfLettersOrSingleSigns) {
  EXPECT_THAT(words_of("It's 24.5%,  na\xc3\xafve!"),
              ElementsAre("It", "'", "s", "24", ".", "5", "%", ",", "na\xc3\xafve", "!"));
  EXPECT_THAT(words_of("  "), ElementsAre());
  EXPECT_EQ(lower_case("AbC-\xc3\x84"), "abc-\xc3\x84");
}

TEST(Rows, AreCutOffAndFilledUp) {
  const std::vector<std::vector<std::int64_t>> rows = {{1, 2, 3, 4}, {}, {5}};
  const PaddedRows result = padded(rows, 3, 9, Device::cpu());
  EXPECT_EQ(result.ids.shape(), (Shape{3, 3}));
  EXPECT_THAT(result.ids.to_vector(), ElementsAre(1, 2, 3, 9, 9, 9, 5, 9, 9));
  EXPECT_THAT(result.lengths.to_vector(), ElementsAre(3, 0, 1));
}

}  // namespace
}  // namespace kiln::models
