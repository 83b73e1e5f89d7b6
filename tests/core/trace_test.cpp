// The calls that led to a place, as a user reads them. This file is compiled with debug information, and outside of Kiln's
// namespace, where users' code is.
#include "kiln/core/error/trace.hpp"

#include <gtest/gtest.h>

#include "kiln/core/text.hpp"

namespace {

int line_of_deepest = 0, line_of_forward = 0;

}  // namespace

[[gnu::noinline]] kiln::Trace deepest() { return line_of_deepest = __LINE__, kiln::Trace::here(); }

struct Layer {
  [[gnu::noinline]] kiln::Trace forward() const {
    kiln::Trace trace = (line_of_forward = __LINE__, deepest());
    ++trace.depth, --trace.depth;  // something is left to do, so that the call does not become a jump
    return trace;
  }
};

TEST(Trace, NamesFunctionsAndTheirLines) {
  const std::string lines = lines_of(Layer().forward());
#ifdef KILN_TRACE_HAS_LINES
  EXPECT_TRUE(lines.starts_with(kiln::text("\n  called from trace_test.cpp:", line_of_deepest, " deepest",
                                           "\n  called from trace_test.cpp:", line_of_forward, " Layer::forward",
                                           "\n  called from trace_test.cpp:", __LINE__ - 4, " Trace_NamesFunctions")))
      << lines;
#else
  EXPECT_TRUE(lines.starts_with("\n  called from ")) << lines;
#endif
}

TEST(Trace, LeavesOutWhatIsKilnsAndWhatComesBeforeMain) {
  const std::string lines = lines_of(Layer().forward());
  EXPECT_EQ(lines.find("kiln::"), std::string::npos) << lines;
  EXPECT_EQ(lines.find("__libc_start"), std::string::npos) << lines;
}

TEST(Trace, OfNothingIsEmpty) { EXPECT_EQ(lines_of(kiln::Trace()), ""); }
