// Selecting and ordering; expected values by hand.
#include <cmath>

#include <gtest/gtest.h>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/text/format.hpp"
#include "tests/support/devices.hpp"

namespace kiln {
namespace {

using test::best_autodiff;

TEST(MaskFill, TakesNumbersOfAnyTypeThatFits) {
  const Device device = Device::cpu();
  const auto mask = Tensor<1, Bool>::of({true, false}, device);
  EXPECT_EQ(ones({2}, device).mask_fill(mask, -1).to_vector(), (std::vector<float>{-1, 1}));
  EXPECT_EQ(ones({2}, device).mask_fill(mask, 0.5f).to_vector(), (std::vector<float>{0.5, 1}));
  EXPECT_EQ(ones<Int>({2}, device).mask_fill(mask, -1).to_vector(), (std::vector<std::int64_t>{-1, 1}));
  // A mask of more dimensions repeats the tensor.
  const auto square = Tensor<2, Bool>::of({{true, false}, {false, true}}, device);
  const Tensor<2> repeated = ones({2}, device).mask_fill(square, -1);
  EXPECT_EQ(repeated.to_vector(), (std::vector<float>{-1, 1, 1, -1}));
}

TEST(Index, TopkGivesTheLargestFirst) {
  const auto x = Tensor<2>::of({{3, 1, 2, 3}, {0, NAN, -5, 7}}, best_autodiff());
  const auto [values, indices] = x.topk(2);
  EXPECT_EQ(to_text(values), "[[ 3.  3.]\n [nan  7.]]");
  EXPECT_EQ(to_text(indices), "[[0 3]\n [1 3]]");
  const auto least = x.topk(1, 0, /*largest=*/false);
  EXPECT_EQ(to_text(least.values), "[[ 0.  1. -5.  3.]]");
  EXPECT_EQ(to_text(least.indices), "[[1 0 1 0]]");
}

TEST(Index, SortIsStableAndPutsNanLast) {
  const auto x = Tensor<1>::of({2, NAN, 1, 2, -INFINITY}, best_autodiff());
  EXPECT_EQ(to_text(x.sort().values), "[-inf   1.   2.   2.  nan]");
  EXPECT_EQ(to_text(x.argsort()), "[4 2 0 3 1]");
  EXPECT_EQ(to_text(x.argsort(0, /*descending=*/true)), "[1 0 3 2 4]");
  EXPECT_EQ(to_text(Tensor<1, Int>::of({3, -1, 2}, best_autodiff()).sort(-1, true).values), "[ 3  2 -1]");
  EXPECT_EQ(zeros({0, 3}, best_autodiff()).sort().values.shape(), (Shape{0, 3}));
}

TEST(Index, SortAlongAnInnerDimensionAndItsGradient) {
  const auto x = Tensor<2>::of({{3, 1}, {2, 5}, {1, 4}}, best_autodiff()).require_grad();
  const auto sorted = x.sort(0).values;
  EXPECT_EQ(to_text(sorted), "[[1. 1.]\n [2. 4.]\n [3. 5.]]");
  const auto weights = Tensor<2>::of({{1}, {10}, {100}}, best_autodiff());
  EXPECT_EQ(to_text((sorted * weights).sum().backward().of(x)), "[[100.   1.]\n [ 10. 100.]\n [  1.  10.]]");
}

TEST(Index, ExtremesComeWithTheirPlaces) {
  const auto x = Tensor<2>::of({{3, 9, 9}, {-4, -8, -8}}, best_autodiff()).require_grad();
  const auto [most, where_most] = x.max_with_index(1);
  const auto [least, where_least] = x.min_with_index(1);
  EXPECT_EQ(to_text(most) + to_text(where_most), "[ 9. -4.][1 0]");
  EXPECT_EQ(to_text(least) + to_text(where_least), "[ 3. -8.][0 1]");
  EXPECT_EQ(to_text(most.sum().backward().of(x)), "[[0. 1. 0.]\n [1. 0. 0.]]") << "to the first of equals";
  EXPECT_EQ(to_text(x.argmax(0)) + to_text(x.argmin(0)), "[0 0 0][1 1 1]");
}

TEST(Index, MaskSelectKeepsRowMajorOrder) {
  const auto x = Tensor<2, Int>::of({{1, 2}, {3, 4}}, best_autodiff());
  EXPECT_EQ(to_text(x.mask_select(x % 2 == 0)), "[2 4]");
  EXPECT_EQ(x.mask_select(x > 9).shape(), (Shape{0}));
}

TEST(Index, GatherScatterSelectAndOneHot) {
  const auto x = Tensor<2>::of({{1, 2, 3}, {4, 5, 6}}, best_autodiff());
  const auto index = Tensor<2, Int>::of({{2, 0}, {1, 1}}, best_autodiff());
  EXPECT_EQ(to_text(x.gather(1, index)), "[[3. 1.]\n [5. 5.]]");
  EXPECT_EQ(to_text(x.scatter_add(1, index, ones({2, 2}, best_autodiff()))), "[[2. 2. 4.]\n [4. 7. 6.]]");
  Tensor<3> rows = x.select(0, index.clamp(0, 1));
  EXPECT_EQ(rows.shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(to_text(x.select(1, Tensor<1, Int>::of({2, 2, 0}, best_autodiff()))), "[[3. 3. 1.]\n [6. 6. 4.]]");
  Tensor<2, Int> hot = Tensor<1, Int>::of({1, 0, 5}, best_autodiff()).one_hot(3);
  EXPECT_EQ(to_text(hot), "[[0 1 0]\n [1 0 0]\n [0 0 0]]");
}

}  // namespace
}  // namespace kiln
