// What comes out of operators: kinds are decided by the compiler, element types by the table of core/dtype.hpp.
#include <gtest/gtest.h>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/text/format.hpp"
#include "tests/support/devices.hpp"

namespace kiln {
namespace {

template <class Expected, class Actual>
constexpr bool kIs = std::is_same_v<Expected, std::remove_cvref_t<Actual>>;

using test::best;

TEST(Kind, FloatWinsOverIntAndIntOverBool) {
  const auto f = Tensor<1>::of({1.5, -2}, best());
  const auto i = Tensor<1, Int>::of({7, -7}, best());
  const auto b = Tensor<1, Bool>::of({true, false}, best());
  static_assert(kIs<Tensor<1>, decltype(f + i)> && kIs<Tensor<1>, decltype(b * f)>);
  static_assert(kIs<Tensor<1, Int>, decltype(i - b)> && kIs<Tensor<1, Int>, decltype(b + b)>);
  EXPECT_EQ(to_text(f + i), "[ 8.5 -9. ]");
  EXPECT_EQ(to_text(b * f), "[ 1.5 -0. ]");
  EXPECT_EQ(to_text(i - b), "[ 6 -7]");
  EXPECT_EQ(to_text(b + b), "[2 0]");
}

TEST(Kind, APlainNumberRaisesTheKindButNotThePrecision) {
  const auto i = Tensor<1, Int>::of({7, -7}, best());
  const auto half = Tensor<1>::of({1, 2}, best(), DType::F16);
  const auto small = Tensor<1, Int>::of({1, 2}, best(), DType::I8);
  static_assert(kIs<Tensor<1>, decltype(i * 0.5)> && kIs<Tensor<1, Int>, decltype(3 - i)>);
  EXPECT_EQ(to_text(i * 0.5), "[ 3.5 -3.5]");
  EXPECT_EQ((i * 0.5).dtype(), DType::F32);
  EXPECT_EQ(to_text(3 - i), "[-4 10]");
  EXPECT_EQ((half * 0.1).dtype(), DType::F16);
  EXPECT_EQ((small + 1).dtype(), DType::I8);
}

TEST(Kind, DivisionIsTrueAndRemainderIsPythons) {
  const auto i = Tensor<1, Int>::of({7, -7}, best());
  static_assert(kIs<Tensor<1>, decltype(i / 2)> && kIs<Tensor<1, Int>, decltype(i % 3)>);
  EXPECT_EQ(to_text(i / 2), "[ 3.5 -3.5]");
  EXPECT_EQ(to_text(i.floor_divide(2)), "[ 3 -4]");
  EXPECT_EQ(to_text(i % 3), "[1 2]");
}

TEST(Kind, ComparisonsAndLogicAreElementwise) {
  const auto x = Tensor<1>::of({1, 2, 3}, best());
  EXPECT_EQ(to_text(x == 2), "[false  true false]");
  EXPECT_EQ(to_text(2 != x), "[ true false  true]");
  EXPECT_EQ(to_text((x > 1) & (x <= 2)), "[false  true false]");
  EXPECT_EQ(to_text((x < 2) | (3 <= x)), "[ true false  true]");
  EXPECT_EQ(to_text((x >= 2) ^ (x == 3)), "[false  true false]");
  EXPECT_EQ(to_text(!(x == 2)), "[ true false  true]");
  EXPECT_TRUE((x > 0).all().item());
  EXPECT_FALSE((x > 3).any().item());
}

TEST(Kind, RanksBroadcastToTheLargerOne) {
  const auto matrix = Tensor<2>::of({{1, 2}, {3, 4}}, best());
  const auto row = Tensor<1>::of({10, 20}, best());
  static_assert(kIs<Tensor<2>, decltype(matrix + row)> && kIs<Tensor<2>, decltype(row - matrix)>);
  static_assert(kIs<Tensor<3>, decltype(matrix.maximum(row.unsqueeze(0).unsqueeze(0)))>);
  EXPECT_EQ(to_text(matrix + row), "[[11. 22.]\n [13. 24.]]");
  EXPECT_EQ(to_text(row - matrix), "[[ 9. 18.]\n [ 7. 16.]]");
  EXPECT_EQ(to_text(where(matrix > row / 5, matrix, 0)), "[[0. 0.]\n [3. 0.]]");
}

TEST(Kind, CompoundAssignmentMakesANewTensor) {
  auto x = Tensor<1>::of({1, 2}, best());
  const auto before = x;
  x += 1;
  x *= x;
  x -= Tensor<1, Int>::of({1, 1}, best());
  x /= 2;
  EXPECT_EQ(to_text(x), "[1.5 4. ]");
  EXPECT_EQ(to_text(before), "[1. 2.]");
}

TEST(Kind, FunctionsExistAsMethodsAndFree) {
  const auto x = Tensor<1>::of({0.25, 4}, best());
  static_assert(kIs<Tensor<1>, decltype(sqrt(x))> && kIs<Tensor<1, Bool>, decltype(is_nan(x))>);
  EXPECT_EQ(to_text(sqrt(x)), "[0.5 2. ]");
  EXPECT_EQ(to_text(x.sqrt()), "[0.5 2. ]");
  EXPECT_EQ(to_text(pow(x, 2)), "[ 0.0625 16.    ]");
  EXPECT_EQ(to_text(-x), "[-0.25 -4.  ]");
  EXPECT_EQ(to_text(x.clamp(0.5, 3)), "[0.5 3. ]");
  EXPECT_EQ(to_text(x.mask_fill(x > 1, -1)), "[ 0.25 -1.  ]");
}

TEST(Kind, ConversionsBetweenKinds) {
  const auto x = Tensor<1>::of({-1.75, 0, 2.5}, best());
  EXPECT_EQ(to_text(x.to_int()), "[-1  0  2]");
  EXPECT_EQ(to_text(x.to_bool()), "[ true false  true]");
  EXPECT_EQ(to_text(x.to_bool().to_float()), "[1. 0. 1.]");
  EXPECT_EQ(x.to(DType::F64).dtype(), DType::F64);
  EXPECT_EQ(x.to_bool().to_vector(), (std::vector<bool>{true, false, true}));
}

}  // namespace
}  // namespace kiln
