// The calls that led to a place, as a user reads them. This file is compiled with debug information, and outside of Kiln's
// namespace, where users' code is.
#include "kiln/core/error/trace.hpp"

#include <gtest/gtest.h>

#include "kiln/core/error/error.hpp"
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

namespace {

/// The lines of calls in the error of `call`.
template <class F>
std::string calls_in_error_of(F call) {
  try {
    call();
  } catch (const kiln::Error& error) {
    const std::string_view message = error.message();
    return std::string(message.substr(kiln::without_calls(message).size()));
  }
  return "no error";
}

int line_of_mistake = 0;

}  // namespace

[[gnu::noinline]] void mistake() { line_of_mistake = __LINE__, kiln::fail<kiln::ShapeError>("matmul: 3 and 4 differ"); }

TEST(Trace, StandsInErrorsOfCalls) {
  const std::string lines = calls_in_error_of([] { mistake(); });
#ifdef KILN_TRACE_HAS_LINES
  EXPECT_TRUE(lines.starts_with(kiln::text("\n  called from trace_test.cpp:", line_of_mistake, " mistake"))) << lines;
  EXPECT_EQ(lines.find("kiln::fail"), std::string::npos) << lines;
  EXPECT_EQ(lines.find("gtest.cc"), std::string::npos) << lines;
#else
  EXPECT_EQ(lines, "");
#endif
}

TEST(Trace, StandsNotInErrorsOfFilesAndMemory) {
  EXPECT_EQ(calls_in_error_of([] { kiln::fail<kiln::DataError>("x"); }), "");
  EXPECT_EQ(calls_in_error_of([] { kiln::fail<kiln::IoError>("x"); }), "");
  EXPECT_EQ(calls_in_error_of([] { kiln::fail<kiln::MemoryError>("x"); }), "");
}

TEST(Trace, OfAnEarlierCallStandsInErrorsOfItsLateWork) {
  const kiln::Trace earlier = Layer().forward();
  const std::string lines = calls_in_error_of([&] {
    const kiln::CalledFrom there(&earlier);
    EXPECT_EQ(kiln::CalledFrom::calls().depth, earlier.depth);
    mistake();
  });
  EXPECT_EQ(lines, lines_of(earlier));
  EXPECT_EQ(calls_in_error_of([&] {
              const kiln::CalledFrom there(&earlier), nowhere(nullptr);
              mistake();
            }),
            "");
  EXPECT_EQ(calls_in_error_of([] { kiln::fail<kiln::ShapeError>("a\n  called from main.cpp:1 main"); }),
            "\n  called from main.cpp:1 main");
}

TEST(Trace, StandsBehindWordsThatAreAdded) {
  EXPECT_EQ(kiln::with_end("a", " (b)"), "a (b)");
  EXPECT_EQ(kiln::with_end("a\n  called from main.cpp:1 main", " (b)"), "a (b)\n  called from main.cpp:1 main");
  const auto describe = [](kiln::ErrorKind, std::string& sentence) { sentence += " (b)"; };
  const kiln::ErrorContext context(describe);
  try {
    kiln::fail<kiln::ShapeError>("a\n  called from main.cpp:1 main");
  } catch (const kiln::Error& error) { EXPECT_EQ(error.message(), "a (b)\n  called from main.cpp:1 main"); }
}

TEST(Trace, OfNothingIsEmpty) { EXPECT_EQ(lines_of(kiln::Trace()), ""); }
