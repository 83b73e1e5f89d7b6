// Gradients in the types of what they are taken by.
#include "kiln/tensor/gradient.hpp"

#include <gtest/gtest.h>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"
#include "tests/support/devices.hpp"

namespace kiln {
namespace {

using test::autodiff;

TEST(Grad, IsATensorLikeTheOneThatItIsTakenBy) {
  const Tensor<1> x = Tensor<1>::of({1, 2, 3}, autodiff).require_grad();
  const Tensor<1> y = x * 2;  // no leaf
  const Tensor<1> slope = grad(y.square().sum(), y);
  EXPECT_EQ(slope.to_vector(), (std::vector<float>{4, 8, 12}));
}

TEST(Grad, IsWantedOrNot) {
  const auto x = Tensor<1>::of({2}, Device::cpu().autodiff());
  const auto leaf = x.set_require_grad(true);
  EXPECT_TRUE(leaf.tracked());
  EXPECT_EQ((leaf * leaf).sum().backward().of(leaf).to_vector(), (std::vector<float>{4}));
  EXPECT_FALSE(leaf.set_require_grad(false).tracked());
}

TEST(Grad, OfATensorIsThatOfItsSum) {
  const Tensor<1> x = Tensor<1>::of({1, 2, 3}, autodiff).require_grad();
  EXPECT_EQ(grad(x.square(), x).to_vector(), (std::vector<float>{2, 4, 6}));
}

TEST(Grad, IsTakenBySeveralAtOnce) {
  const Tensor<1> x = Tensor<1>::of({1, 2}, autodiff).require_grad();
  const Tensor<2> y = Tensor<2>::of({{3, 4}, {5, 6}}, autodiff).require_grad();
  const auto [gx, gy] = grad((x * y).sum(), std::tie(x, y));
  static_assert(std::is_same_v<decltype(gx), const Tensor<1>> && std::is_same_v<decltype(gy), const Tensor<2>>);
  EXPECT_EQ(gx.to_vector(), (std::vector<float>{8, 10}));
  EXPECT_EQ(gy.to_vector(), (std::vector<float>{1, 2, 1, 2}));
}

TEST(Grad, CanBeDifferentiatedAgain) {
  const Tensor<1> x = Tensor<1>::of({1, 2}, autodiff).require_grad();
  const Tensor<1> slope = grad(x.pow(3).sum(), x, {.create_graph = true});
  EXPECT_EQ(grad(slope.sum(), x).to_vector(), (std::vector<float>{6, 12}));  // 6 x
}

}  // namespace
}  // namespace kiln
