#include "kiln/core/error/error.hpp"
#include "kiln/core/error/trace.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <limits>

namespace kiln {
namespace {

TEST(Errors, SayWhatWasCalledWithWhat) {
  try {
    fail<ShapeError>("matmul: inner dimensions ", 3, " and ", std::int64_t{4}, " differ");
  } catch (const Error& error) {
    EXPECT_EQ(without_calls(error.what()), "ShapeError: matmul: inner dimensions 3 and 4 differ");
    EXPECT_EQ(without_calls(error.message()), "matmul: inner dimensions 3 and 4 differ");
    EXPECT_EQ(error.kind(), ErrorKind::Shape);
  }
}

template <class E>
void expect_class(ErrorKind kind, const std::string& kind_name) {
  EXPECT_EQ(name(kind), kind_name);
  try {
    raise(kind, "x");
    FAIL();
  } catch (const E& error) {
    EXPECT_EQ(error.kind(), kind);
    EXPECT_EQ(error.what(), kind_name + ": x");
  }
}

TEST(Errors, EachKindHasItsClass) {
  expect_class<ShapeError>(ErrorKind::Shape, "ShapeError");
  expect_class<DTypeError>(ErrorKind::DType, "DTypeError");
  expect_class<IndexError>(ErrorKind::Index, "IndexError");
  expect_class<ArgumentError>(ErrorKind::Argument, "ArgumentError");
  expect_class<DeviceError>(ErrorKind::Device, "DeviceError");
  expect_class<AutodiffError>(ErrorKind::Autodiff, "AutodiffError");
  expect_class<MemoryError>(ErrorKind::Memory, "MemoryError");
  expect_class<DataError>(ErrorKind::Data, "DataError");
  expect_class<LoadError>(ErrorKind::Load, "LoadError");
  expect_class<ConfigError>(ErrorKind::Config, "ConfigError");
  expect_class<IoError>(ErrorKind::Io, "IoError");
  expect_class<VerifyError>(ErrorKind::Verify, "VerifyError");
}

TEST(Errors, RequireFailsOnlyWhereItDoesNotHold) {
  EXPECT_NO_THROW(require<IndexError>(true, "never"));
  EXPECT_THROW(require<IndexError>(false, "now"), IndexError);
}

#ifdef GTEST_HAS_DEATH_TEST  // not where there are no processes
TEST(ErrorsDeathTest, ABrokenInvariantAbortsAndNamesThePlace) {
  KILN_CHECK(1 + 1 == 2);
  EXPECT_DEATH(KILN_CHECK(1 + 1 == 3), "error_test.cpp:[0-9]+: broken invariant: 1 \\+ 1 == 3");
}
#endif

TEST(Text, WritesNumbersAsPeopleDo) {
  EXPECT_EQ(text(0.1, " ", 0.1f, " ", 1e300, " ", -2.5f, " ", 3.0), "0.1 0.1 1e+300 -2.5 3");
  EXPECT_EQ(text(1.0f / 3, " ", 16777217.0, " ", 16777216.0f), "0.33333334 16777217 16777216");
  EXPECT_EQ(text(std::numeric_limits<double>::quiet_NaN(), " ", std::numeric_limits<float>::infinity(), " ",
                 -std::numeric_limits<double>::infinity()),
            "nan inf -inf");
  EXPECT_EQ(text(INT64_MIN, " ", UINT64_MAX, " ", short{-3}, " ", std::uint8_t{200}, " ", 7ll),
            "-9223372036854775808 18446744073709551615 -3 200 7");
  EXPECT_EQ(text(true, 'x', "y", std::string("z"), std::string_view("w"), false), "truexyzwfalse");
  EXPECT_EQ(text(), "");
}

// A text that reads back as the same float, for floats of every magnitude.
TEST(Text, AFloatsTextNamesNoOtherFloat) {
  for (float number = 1.1754944e-38f; number < 1e38f; number *= 1.2345679f)
    ASSERT_EQ(std::strtof(text(number).c_str(), nullptr), number);
}

}  // namespace
}  // namespace kiln
