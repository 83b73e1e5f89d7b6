#include "kiln/core/error/expected.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace kiln {
namespace {

int parsed(const std::string& text) {
  require<DataError>(text == "7", "'", text, "' is not seven");
  return 7;
}

TEST(Expected, IsTheValueOfACall) {
  const auto found = try_to([] { return parsed("7"); });
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, 7);
  EXPECT_EQ(found.value_or(1), 7);
  EXPECT_THROW(found.error(), ArgumentError);
  EXPECT_EQ(try_to([] { return std::string("abc"); })->size(), 3u);
  EXPECT_EQ(*try_to([] { return std::make_unique<int>(4); }).value(), 4);  // what cannot be copied
  EXPECT_TRUE(try_to([] {}).has_value());
}

TEST(Expected, IsTheErrorThatACallEndsIn) {
  const auto found = try_to([] { return parsed("8"); });
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind(), ErrorKind::Data);
  EXPECT_EQ(found.error().message(), "'8' is not seven");
  EXPECT_EQ(found.value_or(1), 1);
  try {
    (void)*found;
    FAIL();
  } catch (const DataError& error) { EXPECT_STREQ(error.what(), "DataError: '8' is not seven"); }
  EXPECT_THROW(found.value(), DataError);
  EXPECT_EQ(try_to([] { fail<IoError>("no"); }).error().kind(), ErrorKind::Io);
  EXPECT_THROW((void)try_to([]() -> int { throw std::runtime_error("another library's"); }), std::runtime_error);
}

}  // namespace
}  // namespace kiln
