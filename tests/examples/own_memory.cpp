// A program's own source of memory, and what set_memory_options() says.
#include <gtest/gtest.h>

#include "kiln/backend/memory/memory_options.hpp"
#include "kiln/core/error/error.hpp"
#include "tests/examples/output_of.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

/// Under a sanitizer each block comes from the C++ library.
bool has_options() {
  try {
    set_memory_options({});
    return true;
  } catch (const DeviceError&) { return false; }
}

TEST(OwnMemory, HoldsTheTensors) {
  if (!has_options()) GTEST_SKIP() << "this build's memory has no options";
  const std::string output = output_of(OWN_MEMORY_PROGRAM);
  EXPECT_EQ(output.find("the sum is 2147483648, and "), 0u) << output;
  EXPECT_EQ(output.find("and 0 MiB"), std::string::npos) << output;
  EXPECT_NE(
      output.find("\nmemory options: the processor's memory is in use: set them before the first tensor, and before "),
      std::string::npos)
      << output;
}

TEST(MemoryOptions, RefusesWhatMeansNothing) {
  if (!has_options()) GTEST_SKIP() << "this build's memory has no options";
  EXPECT_EQ(sentence_of([] { return set_memory_options({.strategy = MemoryStrategy::Arena}), 0; }),
            "ArgumentError: memory options: an arena of 0 bytes: say how large it is");
  EXPECT_EQ(sentence_of([] { return set_memory_options({.bytes = 5}), 0; }),
            "ArgumentError: memory options: bytes = 5 are of an arena alone: a limit is set by set_memory_limit()");
}

}  // namespace
}  // namespace kiln
