// Methods and functions that no other file of this folder calls; expected values by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/conv.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/custom.hpp"
#include "kiln/tensor/normalization.hpp"
#include "kiln/tensor/pool.hpp"
#include "kiln/tensor/text/print.hpp"
#include "tests/support/devices.hpp"

namespace kiln {
namespace {

using test::best;

TEST(Method, TensorsKnowTheirShapeAndPlace) {
  const Tensor<2> x = Tensor<2>::zeros(Shape{2, 3}, best());
  EXPECT_EQ(x.dim(-1), 3);
  EXPECT_FALSE(x.empty());
  EXPECT_TRUE(Tensor<2>().empty());
  const Device reference = Device::parse("reference");
  EXPECT_TRUE(x.to_device(reference).device() == reference);
  EXPECT_EQ((Tensor<1>::from_data(TensorData::of<float>({2}, {1, 2}), best()).to_vector()), (std::vector<float>{1, 2}));
}

TEST(Method, DetachLeavesTheGraph) {
  const Tensor<1> x = ones({3}, best().autodiff()).require_grad();
  EXPECT_TRUE((x * 2).tracked());
  EXPECT_FALSE((x * 2).detach().tracked());
}

TEST(Method, SoftmaxSumsToOne) {
  const auto x = Tensor<2>::of({{0, std::log(3.0)}}, best());
  EXPECT_EQ(fmt::format("{:.3}", x.softmax(1)), "[[0.25 0.75]]");
  EXPECT_FLOAT_EQ(x.log_softmax(1)(0, 0).item(), std::log(0.25f));
}

TEST(Method, ConvolutionsAndPoolsSlideAlong) {
  const auto x = Tensor<3>::of({{{1, 2, 3, 4}}}, best());
  const auto sum_of_two = Tensor<3>::of({{{1, 1}}}, best());
  EXPECT_EQ(fmt::format("{}", conv(x, sum_of_two)), "[[[3. 5. 7.]]]");
  EXPECT_EQ(fmt::format("{}", conv_transpose(x, sum_of_two)), "[[[1. 3. 5. 7. 4.]]]");
  EXPECT_EQ(fmt::format("{}", max_pool(x, {.kernel = {2}})), "[[[2. 4.]]]");
  EXPECT_EQ(fmt::format("{}", avg_pool(x, {.kernel = {2}})), "[[[1.5 3.5]]]");
  EXPECT_EQ(fmt::format("{}", adaptive_avg_pool(x, {1})), "[[[2.5]]]");
  EXPECT_EQ(fmt::format("{}", max_pool_with_indices(x, {.kernel = {4}}).indices), "[[[3]]]");
}

TEST(Method, NormalisationHasTheDeviationOfItsWeight) {
  const auto x = Tensor<2>::of({{1, 3}}, best());
  EXPECT_EQ(fmt::format("{}", layer_norm(x, Tensor<1>::of({2, 2}, best()), Tensor<1>::of({0, 1}, best()), 0.0)),
            "[[-2.  3.]]");
}

TEST(Method, DropoutDropsNothingOrEverything) {
  const auto x = Tensor<1>::of({1, 2}, best());
  EXPECT_EQ(dropout(x, 0).to_vector(), x.to_vector());
  EXPECT_EQ(dropout(x, 1).to_vector(), (std::vector<float>{0, 0}));
}

TEST(Method, UniformLikeStaysInItsRange) {
  const auto x = uniform_like(zeros({100}, best()), 2, 3, Key{1});
  EXPECT_GE(x.min().item(), 2);
  EXPECT_LT(x.max().item(), 3);
}

struct Doubled {
  Desc infer(Inputs in) const { return like(in[0]); }
  Value expand(Inputs in) const { return in[0] * 2; }
};

TEST(Method, OperationsOfTheUsersOwnAreCalledLikeOthers) {
  const auto x = Tensor<1>::of({1, 2}, best());
  EXPECT_EQ(custom(Doubled{}, x).to_vector(), (std::vector<float>{2, 4}));
  EXPECT_EQ(custom_all(Doubled{}, x).size(), 1u);
}

TEST(Method, PrintWritesToTheStandardOutput) {
  testing::internal::CaptureStdout();
  print("{} of {}\n", Tensor<1>::of({1, 2}, best()), Shape{2});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "[1. 2.] of [2]\n");
}

}  // namespace
}  // namespace kiln
