// Names from outside, as sentences show them.
#include "kiln/core/error/shown.hpp"

#include <gtest/gtest.h>

#include "kiln/core/error/error.hpp"

namespace kiln {
namespace {

TEST(Shown, EscapesWhatATerminalObeys) {
  EXPECT_EQ(shown("conv1.weight"), "conv1.weight");
  EXPECT_EQ(shown("\x1b[31mred\n"), "\\x1b[31mred\\x0a");
  EXPECT_EQ(shown(std::string_view("a\0b\x7f", 4)), "a\\x00b\\x7f");
  EXPECT_EQ(shown("größe"), "größe");
  EXPECT_EQ(shown("\xc2\x9b"
                  "31m"),
            "\\xc2\\x9b31m");                  // the one-letter form of "\x1b["
  EXPECT_EQ(shown("\xff\xc3"), "\\xff\\xc3");  // no UTF-8
}

TEST(Shown, LeavesTheMiddleOfLongNamesOut) {
  const std::string name = std::string(50, 'a') + std::string(1000, 'b') + std::string(20, 'c');
  EXPECT_EQ(shown(name), std::string(50, 'a') + std::string(7, 'b') + "..." + std::string(20, 'c'));
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "ä";
  EXPECT_EQ(shown(umlauts).find('\\'), std::string::npos);  // no letter is cut in two
}

TEST(Shown, IsWhatEverySentenceGoesThrough) {
  try {
    fail<IoError>("cannot read \x1b[2J");
  } catch (const Error& error) { EXPECT_STREQ(error.what(), "IoError: cannot read \\x1b[2J"); }
}

}  // namespace
}  // namespace kiln
