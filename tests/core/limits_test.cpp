#include "kiln/core/limits.hpp"

#include <gtest/gtest.h>

#include "tests/core/sentence.hpp"
#include <limits>
#include <string>

namespace kiln {
namespace {

template <class T>
void expect_limits(const FloatLimits& found) {
  using Right = std::numeric_limits<T>;
  EXPECT_EQ(found.bits, 8 * sizeof(T));
  EXPECT_EQ(found.lowest, Right::lowest());
  EXPECT_EQ(found.max, Right::max());
  EXPECT_EQ(found.smallest_normal, Right::min());
  EXPECT_EQ(found.epsilon, Right::epsilon());
}

// Of halves: numpy.finfo("float16"), torch.finfo(torch.bfloat16).
TEST(Limits, OfFloats) {
  expect_limits<double>(finfo(DType::F64));
  expect_limits<float>(finfo(DType::F32));
  const FloatLimits half = finfo(DType::F16), brain = finfo(DType::BF16);
  EXPECT_EQ(half.max, 65504);
  EXPECT_EQ(half.lowest, -65504);
  EXPECT_EQ(half.smallest_normal, 6.103515625e-05);
  EXPECT_EQ(half.epsilon, 0.0009765625);
  EXPECT_EQ(brain.max, 3.3895313892515355e+38);
  EXPECT_EQ(brain.smallest_normal, 1.1754943508222875e-38);
  EXPECT_EQ(brain.epsilon, 0.0078125);
  EXPECT_EQ(brain.bits, 16);
}

TEST(Limits, OfIntegers) {
  EXPECT_EQ(iinfo(DType::I8).min, -128);
  EXPECT_EQ(iinfo(DType::U8).max, 255u);
  EXPECT_EQ(iinfo(DType::U16).bits, 16);
  EXPECT_EQ(iinfo(DType::I32).max, 2147483647u);
  EXPECT_EQ(iinfo(DType::I64).min, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(iinfo(DType::U64).min, 0);
  EXPECT_EQ(iinfo(DType::U64).max, std::numeric_limits<std::uint64_t>::max());
}

TEST(Limits, SayWhatIsWrong) {
  EXPECT_EQ(sentence_of([] { return finfo(DType::I32); }), "DTypeError: finfo: int32 is not a float type");
  EXPECT_EQ(sentence_of([] { return iinfo(DType::Bool); }), "DTypeError: iinfo: bool is not an integer type");
}

}  // namespace
}  // namespace kiln
