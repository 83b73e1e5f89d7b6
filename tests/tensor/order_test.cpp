// Scans, ordering and searching as methods and functions of tensors; expected values by hand.
#include "kiln/tensor/order.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/scan.hpp"
#include "kiln/tensor/text/format.hpp"
#include "tests/support/devices.hpp"

namespace kiln {
namespace {

using test::best_autodiff;
Tensor<2> matrix() { return Tensor<2>::of({{3, 1, 2}, {0, 5, 4}}, best_autodiff()); }

TEST(Scan, RunsAlongADimension) {
  const auto x = matrix();
  EXPECT_EQ(to_text(x.cumsum(1)), "[[3. 4. 6.]\n [0. 5. 9.]]");
  EXPECT_EQ(to_text(x.cumsum(0)), "[[3. 1. 2.]\n [3. 6. 6.]]");
  EXPECT_EQ(to_text(x.cumsum(-1, {.exclusive = true})), "[[0. 3. 4.]\n [0. 0. 5.]]");
  EXPECT_EQ(to_text(x.cumsum(-1, {.reverse = true})), "[[6. 3. 2.]\n [9. 9. 4.]]");
  EXPECT_EQ(to_text(x.cumprod(1)), "[[3. 3. 6.]\n [0. 0. 0.]]");
  Tensor<1, Int> counts = Tensor<1, Bool>::of({true, false, true}, best_autodiff()).cumsum(0);
  EXPECT_EQ(to_text(counts), "[1 1 2]");
  const auto [most, where_most] = x.cummax(1);
  const auto [least, where_least] = x.cummin(1);
  EXPECT_EQ(to_text(most) + to_text(where_most), "[[3. 3. 3.]\n [0. 5. 5.]][[0 0 0]\n [0 1 1]]");
  EXPECT_EQ(to_text(least) + to_text(where_least), "[[3. 1. 1.]\n [0. 0. 0.]][[0 1 1]\n [0 0 0]]");
  EXPECT_FLOAT_EQ(x.logcumsumexp(1)(0, 1).item(), std::log(std::exp(3.f) + std::exp(1.f)));
}

TEST(Scan, OfALinearRecurrenceForgetsAsFastAsItIsTold) {
  const auto x = Tensor<1>::of({8, 0, 0, 4}, best_autodiff());
  EXPECT_EQ(to_text(linear_recurrence(0.5, x, 0)), "[8. 4. 2. 5.]");
  Tensor<2> rows = linear_recurrence(Tensor<2>::of({{1}, {0.5}}, best_autodiff()), x, 1, /*reverse=*/true);
  EXPECT_EQ(to_text(rows), "[[12.   4.   4.   4. ]\n [ 8.5  1.   2.   4. ]]");
}

TEST(Order, SortsAndSelects) {
  const auto x = matrix();
  EXPECT_EQ(to_text(x.argtopk(2)), "[[0 2]\n [1 2]]");
  EXPECT_EQ(to_text(x.msort()), "[[0. 1. 2.]\n [3. 5. 4.]]");
  Tensor<1, Bool> sorted = x.is_sorted();
  EXPECT_EQ(to_text(sorted), "[false false]");
  EXPECT_EQ(to_text(x.sort().values.is_sorted(1)), "[ true  true]");
  Tensor<0, Int> place = x.argmax();
  EXPECT_EQ(place.item(), 4);
  EXPECT_EQ(x.argmin().item(), 3);
  EXPECT_EQ(to_text(x.argmax(keep, 1)) + to_text(x.argmin(keep, 0)), "[[0]\n [1]][[1 0 0]]");
  EXPECT_EQ(to_text(Tensor<1, Bool>::of({true, false, true}, best_autodiff()).argsort(0, true)), "[0 2 1]");
}

TEST(Order, FindsTheMiddleAndTheMostFrequent) {
  const auto x = Tensor<2>::of({{4, 1, 3, 1}, {2, 2, 7, 5}}, best_autodiff());
  const auto [values, indices] = x.median(1);
  EXPECT_EQ(to_text(values) + to_text(indices), "[1. 2.][3 1]");
  EXPECT_EQ(x.median(keep, 0).values.shape(), (Shape{1, 4}));
  EXPECT_EQ(x.median().item(), 2);
  EXPECT_EQ(Tensor<1>::of({NAN, 3, 1}, best_autodiff()).nanmedian().item(), 1);
  EXPECT_EQ(x.nanmedian(0).indices.shape(), (Shape{4}));
  EXPECT_EQ(to_text(x.mode(1).values) + to_text(x.mode(1).indices), "[1. 2.][1 0]");
  EXPECT_EQ(to_text(x.kthvalue(3, 1).values), "[3. 5.]");
  EXPECT_EQ(to_text(x.kthvalue(keep, 1, 0).indices), "[[1 0 0 0]]");
  EXPECT_EQ(x.max_with_index(keep, 1).values.shape(), (Shape{2, 1}));
  EXPECT_EQ(to_text(x.min_with_index(keep, 1).indices), "[[1]\n [0]]");
  EXPECT_EQ(to_text(x.quantile(0.5, 1)), "[2.  3.5]");
  EXPECT_EQ(to_text(x.quantile({0, 1}, 1)), "[[1. 2.]\n [4. 7.]]");
  EXPECT_EQ(to_text(x.quantile(0.4, 1, Between::Nearest)), "[1. 2.]");
  const auto holes = Tensor<1, Float>::of({NAN, 1, 3}, best_autodiff());
  EXPECT_EQ(holes.nanquantile(0.5, 0).item(), 2);
  EXPECT_EQ(to_text(holes.nanquantile({0, 1}, 0)), "[1. 3.]");
}

TEST(Order, SearchesInSortedLines) {
  const auto edges = Tensor<1>::of({1, 3, 5}, best_autodiff());
  const auto x = Tensor<2>::of({{0, 1}, {3, 6}}, best_autodiff());
  EXPECT_EQ(to_text(searchsorted(edges, x)), "[[0 0]\n [1 3]]");
  EXPECT_EQ(to_text(searchsorted(edges, x, /*right=*/true)), "[[0 1]\n [2 3]]");
  EXPECT_EQ(to_text(bucketize(x, edges)), "[[0 0]\n [1 3]]");
  EXPECT_EQ(to_text(searchsorted(Tensor<2>::of({{1, 2, 3}, {5, 6, 7}}, best_autodiff()), x)), "[[0 0]\n [0 1]]");
}

TEST(Order, FindsWhatIsDistinct) {
  const auto x = Tensor<2, Int>::of({{7, 3, 3}, {7, 7, 5}}, best_autodiff());
  const auto [values, inverse, counts] = unique(x);
  EXPECT_EQ(to_text(values) + to_text(inverse) + to_text(counts), "[3 5 7][[2 0 0]\n [2 2 1]][2 1 3]");
  const auto runs = unique_consecutive(x);
  EXPECT_EQ(to_text(runs.values) + to_text(runs.counts), "[7 3 7 5][1 2 2 1]");
}

}  // namespace
}  // namespace kiln
