// What is made of elementwise functions, as a user calls it; proven in tests/ops/numbers.cpp.
#include "kiln/tensor/numbers.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/text/format.hpp"
#include "tests/support/devices.hpp"

namespace kiln {
namespace {

using test::best;
const double kNan = std::nan("");

TEST(Numbers, ShorthandsOfElementwiseFunctions) {
  const auto x = Tensor<1>::of({-1, 0.5, 2}, best());
  EXPECT_EQ(to_text(clamp_min(x, 0)), "[0.  0.5 2. ]");
  EXPECT_EQ(to_text(within(x, -10, 10)), to_text(x));
  EXPECT_EQ(to_text(clamp_max(x, x * 0 + 1)), "[-1.   0.5  1. ]");
  EXPECT_EQ(to_text(rad2deg(deg2rad(Tensor<1, Int>::of({90, 180}, best())))), "[ 90. 180.]");
  EXPECT_EQ(to_text(powi(x, 3)), "[-1.     0.125  8.   ]");
  EXPECT_EQ(float_power(x, 2).dtype(), DType::F64);
  EXPECT_NEAR(logit(x.clamp(0, 1), 0.25).to_vector()[0], -std::log(3), 1e-6);
  EXPECT_NEAR(trigamma(x).to_vector()[2], M_PI * M_PI / 6 - 1, 1e-6);
  EXPECT_EQ(to_text(lerp(x, x + 4, 0.5)), "[1.  2.5 4. ]");
  EXPECT_EQ(to_text(addcmul(x, x, x, 2)), "[ 1.  1. 10.]");
  EXPECT_EQ(to_text(addcdiv(x, x, x)), "[0.  1.5 3. ]");
}

TEST(Numbers, WhatIsNoNumber) {
  const auto x = Tensor<1>::of({kNan, INFINITY, -INFINITY, 3}, best());
  EXPECT_EQ(to_text(nan_to_num(x, 0, 1, 2)), "[0. 1. 2. 3.]");
  EXPECT_EQ(to_text(is_posinf(x)), "[false  true false false]");
  EXPECT_EQ(to_text(is_neginf(x)), "[false false  true false]");
  EXPECT_TRUE(contains_nan(x).item());
  EXPECT_EQ(to_text(is_close(x, x, 0, 0, true)), "[ true  true  true  true]");
  EXPECT_FALSE(all_close(x, x).item());
  EXPECT_TRUE(all_close(Tensor<1>::of({1, 1}, best()), 1.000001).item());
}

TEST(Numbers, OperatorsOnTheBitsOfIntegers) {
  const auto x = Tensor<1, Int>::of({5, -2}, best());
  EXPECT_EQ(to_text(x & 3), "[1 2]");
  EXPECT_EQ(to_text(8 | x), "[13 -2]");
  EXPECT_EQ(to_text(x ^ x), "[0 0]");
  EXPECT_EQ(to_text(~x), "[-6  1]");
  EXPECT_EQ(to_text(x << 2), "[20 -8]");
  EXPECT_EQ(to_text(x >> 1), "[ 2 -1]");
  EXPECT_EQ(to_text((x > 0) & true), "[ true false]");
}

TEST(Numbers, APlainNumberMayStandOnTheLeft) {
  const auto x = Tensor<1, Int>::of({3, -4}, best());
  EXPECT_EQ(to_text(pow(2, x)), "[8 0]");
  EXPECT_EQ(to_text(remainder(7, x)), "[ 1 -1]");
  EXPECT_EQ(to_text(fmod(7.5, x)), "[1.5 3.5]");
  EXPECT_EQ(to_text(maximum(0, x)), "[3 0]");
  EXPECT_EQ(to_text(shift_left(1, x)), "[8 0]");
  EXPECT_EQ(to_text(lt(0, x)), "[ true false]");
  EXPECT_EQ(to_text(copysign(2.0, x.to_float())), "[ 2. -2.]");
}

}  // namespace
}  // namespace kiln
