#include "kiln/core/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kiln/core/random.hpp"

namespace kiln {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr float kFloatInf = std::numeric_limits<float>::infinity();

// What the bits mean, from the definition of the formats: sign, exponent, mantissa.
struct Format {
  int mantissa_bits, exponent_bits;
};
constexpr Format kF16{10, 5}, kBF16{7, 8};

double value_of(std::uint16_t bits, Format format) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const int mantissa = bits & ((1 << format.mantissa_bits) - 1);
  const int exponent = (bits & 0x7fff) >> format.mantissa_bits;
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << format.exponent_bits) - 1) return mantissa ? std::nan("") : sign * kInf;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - format.mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << format.mantissa_bits), exponent - bias - format.mantissa_bits);
}

// The pattern nearest to `value`, of two equally near ones the even; by search, as patterns of one sign are in the
// order of their values.
std::uint16_t nearest(double value, Format format) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::abs(value);
  const auto infinity = static_cast<std::uint16_t>(((1 << format.exponent_bits) - 1) << format.mantissa_bits);
  std::uint16_t low = 0, high = infinity;  // value_of(low) <= magnitude < value_of(high)
  if (magnitude == kInf) return sign | infinity;
  while (high - low > 1) {
    const auto middle = static_cast<std::uint16_t>((low + high) / 2);
    (value_of(middle, format) <= magnitude ? low : high) = middle;
  }
  // Infinity stands where the next number would, had the exponent one more value.
  const double below = value_of(low, format);
  const double above =
      high == infinity ? 2 * std::ldexp(1, (1 << (format.exponent_bits - 1)) - 1) : value_of(high, format);
  const double halfway = below + (above - below) / 2;
  const bool up = magnitude > halfway || (magnitude == halfway && low % 2 == 1);
  return static_cast<std::uint16_t>(sign | (up ? high : low));
}

template <class Half> constexpr Format kFormat = kF16;
template <> constexpr Format kFormat<BF16> = kBF16;

template <class Half>
class HalfTypes : public testing::Test {};
using Types = testing::Types<F16, BF16>;
TYPED_TEST_SUITE(HalfTypes, Types);

TYPED_TEST(HalfTypes, EveryPatternWidensToItsValueAndBack) {
  for (int i = 0; i <= 0xffff; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const double expected = value_of(bits, kFormat<TypeParam>);
    const auto half = TypeParam::from_bits(bits);
    const float widened = half;
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(widened)) << i;
      EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam(widened)))) << i;
      continue;
    }
    ASSERT_EQ(widened, expected) << i;
    ASSERT_EQ(std::signbit(widened), std::signbit(expected)) << i;
    ASSERT_EQ(TypeParam(widened).bits, bits);
    ASSERT_EQ(TypeParam(expected).bits, bits);
  }
}

// Between each two neighbours: the middle (a tie), the doubles beside it, the floats beside it.
TYPED_TEST(HalfTypes, EveryTieAndItsNeighboursRoundToTheNearestEven) {
  constexpr Format format = kFormat<TypeParam>;
  for (int i = 0; i < 0xffff; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const double below = value_of(bits, format), above = value_of(static_cast<std::uint16_t>(i + 1), format);
    if (!std::isfinite(below) || std::isnan(above) || below * above < 0) continue;
    const double next =
        std::isinf(above) ? std::copysign(std::ldexp(1, 1 << (format.exponent_bits - 1)), below) : above;
    const double middle = below + (next - below) / 2;
    for (const double value : {middle, std::nextafter(middle, kInf), std::nextafter(middle, -kInf)})
      ASSERT_EQ(TypeParam(value).bits, nearest(value, format)) << i << ", double " << value;
    const float near = static_cast<float>(middle);
    for (const float value : {near, std::nextafter(near, kFloatInf), std::nextafter(near, -kFloatInf)})
      ASSERT_EQ(TypeParam(value).bits, nearest(value, format)) << i << ", float " << value;
  }
}

TYPED_TEST(HalfTypes, RandomDoublesOfEveryMagnitudeRoundToTheNearest) {
  Random random(std::uint64_t{1});
  for (int i = 0; i < 200000; ++i) {
    const double value = std::ldexp(random.uniform(-2, 2), static_cast<int>(random.below(300)) - 160);
    ASSERT_EQ(TypeParam(value).bits, nearest(value, kFormat<TypeParam>)) << value;
  }
}

TYPED_TEST(HalfTypes, IntegersRoundOnce) {
  // Just above a tie of bfloat16 by less than a float, and less than a double, can tell.
  const std::int64_t above_tie = (std::int64_t{1} << 40) + (std::int64_t{1} << 32) + 1;
  const std::int64_t above_large_tie = (std::int64_t{1} << 62) + (std::int64_t{1} << 54) + 1;
  EXPECT_EQ(static_cast<float>(BF16(above_tie)), 0x1.02p40f);
  EXPECT_EQ(static_cast<float>(BF16(above_tie - 1)), 0x1p40f);
  EXPECT_EQ(static_cast<float>(BF16(above_large_tie)), 0x1.02p62f);
  EXPECT_EQ(static_cast<float>(BF16(-above_large_tie)), -0x1.02p62f);
  EXPECT_EQ(static_cast<float>(BF16(std::uint64_t{0} - 1)), 0x1p64f);
  EXPECT_EQ(static_cast<float>(BF16(INT64_MIN)), -0x1p63f);
  for (int i = -70000; i <= 70000; ++i) ASSERT_EQ(TypeParam(i).bits, nearest(i, kFormat<TypeParam>)) << i;
  EXPECT_EQ(static_cast<float>(TypeParam(true)), 1);
}

TYPED_TEST(HalfTypes, NonFiniteNumbersStayWhatTheyAre) {
  EXPECT_EQ(static_cast<float>(TypeParam(kInf)), std::numeric_limits<float>::infinity());
  EXPECT_EQ(static_cast<float>(TypeParam(-kInf)), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(static_cast<float>(TypeParam(1e300)), std::numeric_limits<float>::infinity());
  EXPECT_EQ(static_cast<float>(TypeParam(-1e-300)), 0);
  EXPECT_TRUE(std::signbit(static_cast<float>(TypeParam(-1e-300))));
  EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam(std::nan("")))));
  EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam(std::numeric_limits<float>::signaling_NaN()))));
}

}  // namespace
}  // namespace kiln
