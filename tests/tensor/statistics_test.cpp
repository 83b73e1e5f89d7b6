// Statistics as methods and functions of tensors; expected values by hand.
#include "kiln/tensor/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/text/format.hpp"
#include "tests/support/devices.hpp"

namespace kiln {
namespace {

using test::best_autodiff;

TEST(Statistics, VarianceDividesByWhatItIsTold) {
  const auto x = Tensor<2>::of({{1, 3}, {2, 6}}, best_autodiff());
  EXPECT_EQ(to_text(x.var(1)), "[2. 8.]");
  EXPECT_EQ(to_text(x.var(biased, 1)), "[1. 4.]");
  EXPECT_EQ(to_text(x.std(biased, 1)), "[1. 2.]");
  EXPECT_EQ(x.var(keep, biased).shape(), (Shape{1, 1}));
  EXPECT_EQ(x.std(keep, 0).shape(), (Shape{1, 2}));
  EXPECT_EQ(x.var(Correction{0}).item(), 3.5f);
  const auto [variance, mean] = var_mean(x, biased, 1);
  EXPECT_EQ(to_text(variance) + to_text(mean), "[1. 4.][2. 4.]");
  EXPECT_EQ(var_mean(x).mean.item(), 3);
}

TEST(Statistics, VarianceAboutAMeanThatIsGiven) {
  const auto x = Tensor<2>::of({{1, 2, 6}, {4, 4, 4}}, Device::cpu());
  EXPECT_EQ(var_about(x, x.mean(keep, 1), 1).to_vector(), (std::vector<float>{7, 0}));
  EXPECT_EQ(var_about(x, Tensor<0>::of(4, Device::cpu()), biased, 1).to_vector(), (std::vector<float>{17.0f / 3, 0}));
  EXPECT_EQ(var_about(x, Tensor<1>::of({1, 2, 4}, Device::cpu())).item(), (4 + 9 + 4) / 5.0f);
  const auto wide = Tensor<1>::of({300, -300}, Device::cpu()).to(DType::F16);  // whose squares are beyond float16
  EXPECT_EQ(var_about(wide, Tensor<1>::of({200}, Device::cpu()).to(DType::F16)).dtype(), DType::F16);
  EXPECT_THROW(var_about(x, Tensor<2>::of({{1}, {1}, {1}}, Device::cpu()), 1), ShapeError);
}

TEST(Statistics, LeaveNanOutIfAsked) {
  const auto x = Tensor<2>::of({{1, NAN, 3}, {NAN, NAN, 4}}, best_autodiff());
  EXPECT_EQ(to_text(x.nansum(1)) + to_text(x.nanmean(1)), "[4. 4.][2. 4.]");
  EXPECT_FLOAT_EQ(Tensor<1>::of({0, 0}, best_autodiff()).logsumexp().item(), 0.6931472f);
  EXPECT_EQ(to_text(x.nanmax(0)) + to_text(x.nanmin(0)), "[ 1. nan  4.][ 1. nan  3.]");
  EXPECT_EQ(x.nanvar(0).shape(), (Shape{3}));
  EXPECT_FLOAT_EQ(x.nanvar(biased).item(), 14.f / 9);
  EXPECT_FLOAT_EQ(x.nanstd(biased).item(), std::sqrt(14.f / 9));
  EXPECT_EQ(x.nanmean(keep).shape(), (Shape{1, 1}));
}

TEST(Statistics, CountAndCompare) {
  const auto x = Tensor<2>::of({{0, -7}, {2, 3}}, best_autodiff());
  Tensor<1, Int> filled = x.count_nonzero(1);
  EXPECT_EQ(to_text(filled), "[1 2]");
  EXPECT_EQ(to_text(x.any(1)) + to_text(x.all(1)), "[ true  true][false  true]");
  EXPECT_EQ(x.max_abs().item(), 7);
  const auto [least, most] = aminmax(x, 0);
  EXPECT_EQ(to_text(least) + to_text(most), "[ 0. -7.][2. 3.]");
  EXPECT_EQ(aminmax(x).most.item(), 3);
  EXPECT_EQ(to_text(average(x, Tensor<1>::of({3, 1}, best_autodiff()), 1)), "[-1.75  2.25]");
}

TEST(Statistics, OfVariables) {
  const auto x = Tensor<2>::of({{1, 2, 3}, {6, 4, 2}}, best_autodiff());
  EXPECT_EQ(to_text(cov(x)), "[[ 1. -2.]\n [-2.  4.]]");
  EXPECT_FLOAT_EQ(cov(x, biased)(0, 0).item(), 2.f / 3);
  EXPECT_NEAR(corrcoef(x)(0, 1).item(), -1, 1e-6);
}

TEST(Statistics, CountByValue) {
  const auto x = Tensor<1, Int>::of({1, 3, 1, 0}, best_autodiff());
  EXPECT_EQ(to_text(bincount(x)) + to_text(bincount(x, 6)), "[1 2 0 1][1 2 0 1 0 0]");
  EXPECT_EQ(to_text(bincount(x, Tensor<1>::of({1, 2, 4, 8}, best_autodiff()))), "[8. 5. 0. 2.]");
  const auto [counts, edges] = histogram(x, 3);
  EXPECT_EQ(to_text(counts) + to_text(edges), "[1 2 1][0. 1. 2. 3.]");
  EXPECT_EQ(to_text(histogram(x, 2, 0, 4).counts), "[3 1]");
  const auto two = Tensor<1>::of({0, 2, 6}, best_autodiff());
  EXPECT_EQ(to_text(histogram(x, two).counts), "[3 1]");
  EXPECT_EQ(to_text(density(x, two).counts), "[0.375  0.0625]");
  EXPECT_EQ(to_text(density(x, two, Tensor<1>::of({1, 1, 1, 5}, best_autodiff())).counts), "[0.4375  0.03125]");
  EXPECT_EQ(to_text(histc(x, 3)), "[1 2 1]");
}

TEST(Statistics, OfFunctionsKnownAtPoints) {
  const auto y = Tensor<1>::of({1, 4, 9}, best_autodiff()), x = Tensor<1>::of({0, 1, 3}, best_autodiff());
  EXPECT_EQ(to_text(diff(y)) + to_text(diff(y, 2)), "[3. 5.][2.]");
  EXPECT_EQ(to_text(diff(y, 1, 0, 0, x)), "[ 1.  3.  5. -9.  1.  2.]");
  EXPECT_EQ(trapezoid(y).item(), 9);
  EXPECT_EQ(trapezoid(y, x).item(), 15.5f);
  EXPECT_EQ(to_text(cumulative_trapezoid(y)) + to_text(cumulative_trapezoid(y, x)), "[2.5 9. ][ 2.5 15.5]");
  const auto at = Tensor<2>::of({{-1, 0.5}, {2, 8}}, best_autodiff());
  EXPECT_EQ(to_text(interp(at, x, y)), "[[1.  2.5]\n [6.5 9. ]]");
  EXPECT_EQ(to_text(interp(at, x, y, 0, -1)), "[[ 0.   2.5]\n [ 6.5 -1. ]]");
}

}  // namespace
}  // namespace kiln
