// Linked with kiln/onnx/operators/text/without_re2.cpp, as builds on machines without RE2 are.
#include <gtest/gtest.h>

#include "kiln/core/error/trace.hpp"
#include "kiln/onnx/apply.hpp"

namespace kiln::onnx {
namespace {

TEST(WithoutRe2, PatternsAreRefusedWithTheRemedy) {
  try {
    (void)apply("RegexFullMatch", 20, {Datum::of_strings({1}, {"a"}, Device::cpu())}, {{"pattern", "a"}});
    FAIL();
  } catch (const ArgumentError& error) {
    EXPECT_EQ(without_calls(error.what()),
              "ArgumentError: RegexFullMatch: this Kiln was built without libre2, which matches patterns: install it "
              "(Debian: libre2-dev) and configure again");
  }
}

}  // namespace
}  // namespace kiln::onnx
