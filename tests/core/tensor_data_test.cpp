#include "kiln/core/tensor_data.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "kiln/core/convert.hpp"
#include "kiln/core/error/trace.hpp"
#include "kiln/core/scalar.hpp"

namespace kiln {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

template <class E, class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const E& error) { return std::string(without_calls(error.what())); }
  return "no error";
}

TEST(TensorData, HoldsShapeTypeAndElementsInRowMajorOrder) {
  const auto data = TensorData::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(data.shape(), (Shape{2, 3}));
  EXPECT_EQ(data.dtype(), DType::F32);
  EXPECT_EQ(data.numel(), 6);
  EXPECT_EQ(data.bytes().size(), 24u);
  EXPECT_EQ(data.as<float>()[4], 5);
  EXPECT_EQ(data.at(5), 6);
}

TEST(TensorData, StartsWithZerosAndMayBeEmptyOrOfRankZero) {
  const TensorData zeros({2, 2}, DType::BF16);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(zeros.at(i), 0);
  EXPECT_EQ(TensorData({0, 5}, DType::F64).to_vector<float>().size(), 0u);
  EXPECT_EQ(TensorData::of<std::int32_t>({}, {7}).at(0), 7);
  EXPECT_EQ(TensorData::of<double>({3, 0}, {}).to(DType::I8).numel(), 0);
}

TEST(TensorData, WrongCallsAreToldWhatIsWrong) {
  EXPECT_EQ(error_of<ShapeError>([] { TensorData::of<float>({2, 2}, {1, 2, 3}); }),
            "ShapeError: a tensor of shape [2, 2] does not have 3 elements");
  EXPECT_EQ(error_of<ShapeError>([] { return TensorData({2}, DType::F32, std::vector<std::byte>(9)); }),
            "ShapeError: a tensor of shape [2] and type float32 does not have 9 bytes");
  EXPECT_EQ(error_of<ShapeError>([] { return TensorData({-1}, DType::F32); }),
            "ShapeError: shape [-1] has a negative size");
  const TensorData data({2, 3}, DType::F32);
  EXPECT_EQ(error_of<DTypeError>([&] { data.as<double>(); }), "DTypeError: elements of type float32 are not float64");
  EXPECT_EQ(error_of<IndexError>([&] { data.at(6); }), "IndexError: element 6 of a tensor with 6 elements");
  EXPECT_EQ(error_of<IndexError>([&] { data.at(-1); }), "IndexError: element -1 of a tensor with 6 elements");
  EXPECT_EQ(error_of<ShapeError>([&] { data.reshaped({4}); }),
            "ShapeError: reshape: [2, 3] to [4]: the numbers of elements differ");
}

TEST(TensorData, ASizeBeyondTheAddressSpaceIsAMemoryError) {
  EXPECT_EQ(error_of<MemoryError>([] { return TensorData({std::int64_t{1} << 61}, DType::F64); }),
            "MemoryError: no memory for a tensor of shape [2305843009213693952] and type float64");
  EXPECT_THROW(static_cast<void>(TensorData({std::int64_t{1} << 62}, DType::F64, {})), ShapeError);
}

TEST(TensorData, LentBytesStayWhereTheyAreUntilSomebodyWrites) {
  const auto lender = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3});
  TensorData data = TensorData::lent({3}, DType::F32, std::as_bytes(std::span(*lender)), lender);
  EXPECT_EQ(lender.use_count(), 2);
  TensorData copy = data;
  EXPECT_EQ(std::as_const(copy).as<float>().data(), lender->data());
  EXPECT_EQ(data.to_vector<double>(), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(data.reshaped({3, 1}).at(2), 3);
  copy.as<float>()[0] = 7;
  EXPECT_EQ(copy.at(0), 7);
  EXPECT_EQ(data.at(0), 1);
  EXPECT_EQ((*lender)[0], 1);
  EXPECT_FALSE(copy.owner());
  data = {};
  copy = {};
  EXPECT_EQ(lender.use_count(), 1);
}

TEST(TensorData, WhatCannotBeReadInPlaceIsCopiedAtOnce) {
  const auto lender = std::make_shared<std::vector<std::byte>>(9, std::byte{2});
  const auto bytes = std::span<const std::byte>(*lender);
  EXPECT_FALSE(TensorData::lent({2}, DType::F32, bytes.subspan(1), lender).owner());
  EXPECT_TRUE(TensorData::lent({2}, DType::F32, bytes.first(8), lender).owner());
  EXPECT_EQ(TensorData::lent({0}, DType::F32, {}, lender).numel(), 0);
  const TensorData flags = TensorData::lent({9}, DType::Bool, bytes, lender);
  EXPECT_EQ(flags.bytes()[4], std::byte{1});
  EXPECT_EQ(error_of<ShapeError>([&] { TensorData::lent({3}, DType::F32, bytes, lender); }),
            "ShapeError: a tensor of shape [3] and type float32 does not have 9 bytes");
}

TEST(TensorData, BoolBytesOtherThanZeroAndOneAreTrue) {
  TensorData data({4}, DType::Bool, {std::byte{0}, std::byte{1}, std::byte{2}, std::byte{255}});
  EXPECT_EQ(data.bytes()[3], std::byte{1});
  data.bytes()[2] = std::byte{7};
  EXPECT_EQ(data.to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 1, 1, 1}));
  EXPECT_EQ(data.to_vector<bool>(), (std::vector<bool>{false, true, true, true}));
  EXPECT_EQ(data.at(2), 1);
  EXPECT_EQ(difference(data, TensorData::of<bool>({4}, {false, true, true, true})), "");
}

// Each of the 169 conversions of a number that all types hold.
TEST(TensorData, EveryTypeConvertsToEveryOther) {
  for (int from = 0; from < kDTypeCount; ++from)
    for (int to = 0; to < kDTypeCount; ++to) {
      const bool boolean = static_cast<DType>(from) == DType::Bool || static_cast<DType>(to) == DType::Bool;
      const auto result = TensorData::of<float>({2}, {0, 93}).to(static_cast<DType>(from)).to(static_cast<DType>(to));
      EXPECT_EQ(result.dtype(), static_cast<DType>(to));
      EXPECT_EQ(result.at(0), 0);
      EXPECT_EQ(result.at(1), boolean ? 1 : 93) << from << " to " << to;
    }
}

TEST(Convert, AFloatToAnIntegerIsTruncatedAndSaturates) {
  EXPECT_EQ(convert<std::int32_t>(2.9), 2);
  EXPECT_EQ(convert<std::int32_t>(-2.9), -2);
  EXPECT_EQ(convert<std::uint8_t>(-0.9), 0);
  EXPECT_EQ(convert<std::uint8_t>(255.9), 255);
  EXPECT_EQ(convert<std::uint8_t>(256.0), 255);
  EXPECT_EQ(convert<std::uint8_t>(-7.0f), 0);
  EXPECT_EQ(convert<std::int8_t>(-128.9f), -128);
  EXPECT_EQ(convert<std::int8_t>(-1e30f), -128);
  EXPECT_EQ(convert<std::int64_t>(0x1p63), INT64_MAX);
  EXPECT_EQ(convert<std::int64_t>(-0x1p63), INT64_MIN);
  EXPECT_EQ(convert<std::int64_t>(std::nextafter(0x1p63, 0)), 9223372036854774784);
  EXPECT_EQ(convert<std::uint64_t>(0x1p64f), UINT64_MAX);
  EXPECT_EQ(convert<std::uint64_t>(0x1p63f), std::uint64_t{1} << 63);
  EXPECT_EQ(convert<std::int32_t>(kInf), INT32_MAX);
  EXPECT_EQ(convert<std::int32_t>(-kInf), INT32_MIN);
  EXPECT_EQ(convert<std::int16_t>(F16(kInf)), INT16_MAX);
  EXPECT_EQ(convert<std::int32_t>(kNan), 0);
  EXPECT_EQ(convert<std::uint64_t>(BF16(kNan)), 0u);
}

TEST(Convert, AnIntegerToANarrowerOneKeepsItsLowBits) {
  EXPECT_EQ(convert<std::int8_t>(std::int64_t{300}), 44);
  EXPECT_EQ(convert<std::uint8_t>(-1), 255);
  EXPECT_EQ(convert<std::int32_t>(std::uint64_t{0xffffffff}), -1);
}

TEST(Convert, AnythingToBoolIsNotZero) {
  EXPECT_TRUE(convert<bool>(0.1));
  EXPECT_TRUE(convert<bool>(kNan));
  EXPECT_TRUE(convert<bool>(std::int64_t{256}));
  EXPECT_FALSE(convert<bool>(-0.0f));
  EXPECT_TRUE(convert<bool>(F16::from_bits(1)));
}

TEST(Convert, ADoubleBeyondFloatIsInfinite) {
  EXPECT_EQ(convert<float>(1e39), std::numeric_limits<float>::infinity());
  EXPECT_EQ(convert<float>(-1e300), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(convert<float>(0x1.fffffefp127), std::numeric_limits<float>::max());
  EXPECT_TRUE(std::isnan(convert<float>(kNan)));
}

TEST(Scalar, ConvertsByTheSameRules) {
  EXPECT_EQ(Scalar(1e30).to<std::int32_t>(), INT32_MAX);
  EXPECT_EQ(Scalar(kNan).to<std::int64_t>(), 0);
  EXPECT_EQ(Scalar(-1).to<std::uint8_t>(), 255);
  EXPECT_EQ(Scalar(true).to<float>(), 1);
  EXPECT_EQ(text(Scalar(0.5), " ", Scalar(3), " ", Scalar(false)), "0.5 3 false");
}

TEST(Difference, IsEmptyForWhatIsWithinTheTolerance) {
  const auto expected = TensorData::of<float>({3}, {1, 100, -1000});
  EXPECT_EQ(difference(TensorData::of<float>({3}, {1.000005f, 100.0005f, -1000.005f}), expected), "");
  EXPECT_EQ(difference(TensorData({0}, DType::F32), TensorData({0}, DType::F32)), "");
}

TEST(Difference, NamesTheWorstAndTheFirstElements) {
  const auto expected = TensorData::of<double>({2, 4}, {0, 0, 0, 1.25, 0, 0, 6, 0});
  const auto actual = TensorData::of<double>({2, 4}, {0, 0, 0, 1.5, 0, 0, 7, 0});
  EXPECT_EQ(difference(actual, expected, {.relative = 0, .absolute = 0.1}),
            "2 of 8 elements differ by more than 0.1 + 0 * |expected|\n"
            "  worst [1, 2]: 7, expected 6 (off by 1)\n"
            "  [0, 3]: 1.5, expected 1.25 (off by 0.25)\n"
            "  [1, 2]: 7, expected 6 (off by 1)");
}

TEST(Difference, SaysWhenShapeOrTypeDiffer) {
  EXPECT_EQ(difference(TensorData({2, 3}, DType::F32), TensorData({3, 2}, DType::F32)),
            "shape [2, 3], expected [3, 2]");
  EXPECT_EQ(difference(TensorData({2}, DType::I32), TensorData({2}, DType::F32)), "type int32, expected float32");
}

TEST(Difference, TellsNansAndInfinitiesApart) {
  const auto of = [](double x) { return TensorData::of<double>({1}, {x}); };
  EXPECT_EQ(difference(of(kNan), of(kNan)), "");
  EXPECT_NE(difference(of(kNan), of(kNan), {.equal_nan = false}), "");
  EXPECT_EQ(difference(of(kInf), of(kInf)), "");
  for (const auto& [a, b] : {std::pair{kNan, 0.0}, {0.0, kNan}, {kInf, -kInf}, {1e308, kInf}, {kInf, 1.0}})
    EXPECT_NE(difference(of(a), of(b)), "") << a << " beside " << b;
  EXPECT_EQ(difference(of(kNan), of(1)),
            "1 of 1 elements differ by more than 1e-06 + 1e-05 * |expected|\n"
            "  worst [0]: nan, expected 1\n  [0]: nan, expected 1");
}

TEST(Difference, IsExactForLargeIntegers) {
  const auto of = [](std::int64_t x) { return TensorData::of<std::int64_t>({1}, {x}); };
  const Tolerance exact{.relative = 0, .absolute = 0};
  EXPECT_EQ(difference(of(INT64_MAX), of(INT64_MAX), exact), "");
  EXPECT_NE(difference(of(INT64_MAX), of(INT64_MAX - 1), exact), "");
  EXPECT_NE(difference(of(INT64_MIN), of(INT64_MAX), exact).find("off by 1.84467441e+19"), std::string::npos);
}

}  // namespace
}  // namespace kiln
