#include "kiln/onnx/element.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace kiln::onnx {
namespace {

constexpr Element kNarrowFloats[] = {Element::Float8E4M3FN,   Element::Float8E4M3FNUZ, Element::Float8E5M2,
                                     Element::Float8E5M2FNUZ, Element::Float4E2M1,     Element::Float8E8M0,
                                     Element::Float6E2M3,     Element::Float6E3M2};

int codes_of(Element element) {
  if (element == Element::Float6E2M3 || element == Element::Float6E3M2) return 64;
  return 1 << bits_of(element);
}

TEST(Element, CodesOfNarrowFloatsAreThoseOfTheSpecification) {
  // The OCP 8-bit and MX specifications' and the FNUZ paper's largest and least values, and codes of NaN.
  EXPECT_EQ(decode(Element::Float8E4M3FN, 0x7e), 448);
  EXPECT_TRUE(std::isnan(decode(Element::Float8E4M3FN, 0x7f)));
  EXPECT_EQ(decode(Element::Float8E4M3FN, 0x01), 0x1p-9);
  EXPECT_EQ(decode(Element::Float8E4M3FNUZ, 0x7f), 240);
  EXPECT_TRUE(std::isnan(decode(Element::Float8E4M3FNUZ, 0x80)));
  EXPECT_EQ(decode(Element::Float8E5M2, 0x7b), 57344);
  EXPECT_EQ(decode(Element::Float8E5M2, 0x7c), INFINITY);
  EXPECT_TRUE(std::isnan(decode(Element::Float8E5M2, 0x7e)));
  EXPECT_EQ(decode(Element::Float8E5M2FNUZ, 0x7f), 57344);
  EXPECT_EQ(decode(Element::Float4E2M1, 0x7), 6);
  EXPECT_EQ(decode(Element::Float4E2M1, 0x9), -0.5);
  EXPECT_EQ(decode(Element::Float6E2M3, 0x1f), 7.5);
  EXPECT_EQ(decode(Element::Float6E3M2, 0x1f), 28);
  EXPECT_EQ(decode(Element::Float8E8M0, 127), 1);
  EXPECT_EQ(decode(Element::Int4, 0xf), -1);
  EXPECT_EQ(decode(Element::Uint4, 0xf), 15);
  EXPECT_EQ(decode(Element::Int2, 0x2), -2);
}

TEST(Element, EveryCodeComesBackFromItsValue) {
  for (const Element element : kNarrowFloats)
    for (int code = 0; code < codes_of(element); ++code) {
      const double x = decode(element, static_cast<unsigned>(code));
      if (std::isnan(x)) {
        EXPECT_TRUE(std::isnan(decode(element, encode(element, x)))) << name(element) << ' ' << code;
      } else {
        EXPECT_EQ(encode(element, x), static_cast<unsigned>(code)) << name(element);
      }
    }
}

TEST(Element, NumbersBecomeTheNearestValueAndHalvesTheEvenOne) {
  for (const Element element : kNarrowFloats) {
    if (element == Element::Float8E8M0) continue;
    std::vector<std::pair<double, int>> values;  // with the lowest bit of the code
    double most = 0;
    for (int code = 0; code < codes_of(element); ++code) {
      const double x = decode(element, static_cast<unsigned>(code));
      if (!std::isfinite(x)) continue;
      values.emplace_back(x, code & 1);
      most = std::max(most, x);
    }
    for (double x = -most; x <= most; x += most / 4096) {
      double best = 0, distance = INFINITY;
      int odd = 0;
      for (const auto& [each, bit] : values) {
        const double apart = std::abs(each - x);
        if (apart < distance || (apart == distance && odd && !bit)) best = each, distance = apart, odd = bit;
      }
      EXPECT_EQ(round_to(element, x), best) << name(element) << ' ' << x;
    }
  }
}

TEST(Element, WhatIsOutOfRangeSaturatesOrIsNotANumber) {
  EXPECT_EQ(round_to(Element::Float8E4M3FN, 1e9), 448);
  EXPECT_EQ(round_to(Element::Float8E5M2, -INFINITY), -57344);
  EXPECT_TRUE(std::isnan(round_to(Element::Float8E4M3FN, 1e9, {.saturate = false})));
  EXPECT_EQ(round_to(Element::Float8E5M2, 1e9, {.saturate = false}), INFINITY);
  EXPECT_TRUE(std::isnan(round_to(Element::Float8E5M2FNUZ, 1e9, {.saturate = false})));
  EXPECT_EQ(round_to(Element::Float4E2M1, 100), 6);
  EXPECT_EQ(round_to(Element::Float8E8M0, 3), 4);
  EXPECT_EQ(round_to(Element::Float8E8M0, 3, {.round_mode = "down"}), 2);
  EXPECT_EQ(round_to(Element::Float8E8M0, 2.9, {.round_mode = "nearest"}), 2);
}

TEST(Element, PackedBitsStandFromTheLowEndOn) {
  const std::byte bytes[] = {std::byte{0x21}, std::byte{0x0f}};
  const TensorData data = unpack(Element::Int4, {3}, bytes, "t");
  EXPECT_EQ(data.to_vector<int>(), (std::vector<int>{1, 2, -1}));
  EXPECT_EQ(pack(Element::Int4, data), (std::vector<std::byte>(bytes, bytes + 2)));
  const TensorData pairs = unpack(Element::Uint2, {5}, bytes, "t");
  EXPECT_EQ(pairs.to_vector<int>(), (std::vector<int>{1, 0, 2, 0, 3}));
  EXPECT_THROW(unpack(Element::Int4, {5}, bytes, "t"), DataError);
}

}  // namespace
}  // namespace kiln::onnx
