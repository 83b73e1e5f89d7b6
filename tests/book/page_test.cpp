// The comparison of what pages show with what their programs print.
#include "tests/book/page.hpp"

#include <gmock/gmock.h>

namespace kiln::book {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(BookPage, DotsStandForAnything) {
  EXPECT_TRUE(fits("loss 0.5", "loss 0.5"));
  EXPECT_FALSE(fits("loss 0.5", "loss 0.51"));
  EXPECT_TRUE(fits("loss 0.5...", "loss 0.51"));
  EXPECT_TRUE(fits("... of ... s", "3 of 4 s"));
  EXPECT_FALSE(fits("... of ... s", "3 of 4"));
  EXPECT_TRUE(fits("...", ""));
}

TEST(BookPage, LinesOfABlockFollowEachOther) {
  const std::vector<Line> block = {{7, "a", true}, {8, "b", false}};
  EXPECT_THAT(difference("p.md", block, "x\na\nb\ny\n"), IsEmpty());
  EXPECT_THAT(difference("p.md", block, "a\nx\na\nb\n"), IsEmpty());
  EXPECT_THAT(difference("p.md", block, "a\nx\nb\n"), HasSubstr("p.md:8: expected\n  'b'\nprinted\n  'x'"));
  EXPECT_THAT(difference("p.md", block, ""), HasSubstr("p.md:7: expected\n  'a'\nprinted\n  nothing more"));
}

TEST(BookPage, BlocksAreInOrderWithAnythingBetween) {
  const std::vector<Line> blocks = {{7, "a", true}, {12, "b", true}};
  EXPECT_THAT(difference("p.md", blocks, "a\nx\nb\n"), IsEmpty());
  EXPECT_THAT(difference("p.md", blocks, "b\na\n"), HasSubstr("p.md:12: expected\n  'b'"));
}

TEST(BookPage, DotsAloneStandForLines) {
  const std::vector<Line> block = {{7, "a", true}, {8, "...", false}, {9, "b", false}};
  EXPECT_THAT(difference("p.md", block, "a\nx\ny\nb\n"), IsEmpty());
  EXPECT_THAT(difference("p.md", block, "a\nb\n"), IsEmpty());
  EXPECT_THAT(difference("p.md", block, "a\nx\n"), HasSubstr("p.md:9: expected\n  'b'"));
}

}  // namespace
}  // namespace kiln::book
