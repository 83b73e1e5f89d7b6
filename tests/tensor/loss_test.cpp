// Losses as a user writes them: the reduction is part of the type.
#include "kiln/tensor/loss.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"
#include "tests/support/devices.hpp"

namespace kiln {
namespace {

using test::best_autodiff;
Tensor<1> row(const std::vector<float>& numbers) { return Tensor<1>::of(numbers, best_autodiff()); }

TEST(Losses, OfClassesAreMeansUnlessToldOtherwise) {
  const auto logits = Tensor<2>::of({{1, 2, 3}, {0, 0, 4}}, Device::cpu());
  const auto targets = Tensor<1, Int>::of({2, 0}, Device::cpu());
  // log(e^1 + e^2 + e^3) - 3 and log(2 + e^4) - 0
  const double first = std::log(std::exp(1) + std::exp(2) + std::exp(3)) - 3, second = std::log(2 + std::exp(4));
  EXPECT_NEAR(cross_entropy(logits, targets).item(), (first + second) / 2, 1e-6);
  EXPECT_NEAR(cross_entropy(logits, targets, {}).item(), (first + second) / 2, 1e-6);
  EXPECT_NEAR(cross_entropy<Reduction::Sum>(logits, targets).item(), first + second, 1e-5);
  EXPECT_NEAR(cross_entropy<Reduction::None>(logits, targets).to_vector()[1], second, 1e-6);
  EXPECT_NEAR(cross_entropy(logits.value(), targets.value()).item(), (first + second) / 2, 1e-6);
}

TEST(LossTensors, AreScalarsUnlessUnreduced) {
  const auto x = row({1, 2, 3}), t = row({1, 1, 1});
  const Tensor<0> mean = mse_loss(x, t), sum = mse_loss<Reduction::Sum>(x, t);
  const Tensor<1> each = mse_loss<Reduction::None>(x, t);
  EXPECT_NEAR(mean.item(), 5.0 / 3, 1e-6);
  EXPECT_EQ(sum.item(), 5);
  EXPECT_EQ(each.to_vector(), (std::vector<float>{0, 1, 4}));
}

TEST(LossTensors, CompareBoxes) {
  // Squares of side 2: the same, one that shares a quarter, and one that touches at a corner within a square of side 4.
  const auto boxes = Tensor<2>::of({{0, 0, 2, 2}, {1, 1, 3, 3}, {2, 2, 4, 4}}, best_autodiff());
  const Tensor<2> overlaps = box_iou(boxes, boxes);
  EXPECT_NEAR(overlaps.to_vector()[1], 1.0 / 7, 1e-6);
  EXPECT_EQ(overlaps.to_vector()[2], 0);
  const Tensor<1> each = box_iou_loss<Reduction::None>(boxes, boxes.flip(0));
  EXPECT_NEAR(each.to_vector()[0], 1 + 8.0 / 16, 1e-6);  // generalised: the half of the hull that no box covers counts
  EXPECT_EQ(each.to_vector()[1], 0);
  EXPECT_NEAR(box_iou_loss(boxes, boxes.flip(0)).item(), 1, 1e-6);
}

TEST(LossTensors, CompareNumbers) {
  const auto x = row({0, 3}), t = row({0.5, 0});
  EXPECT_NEAR(l1_loss(x, t).item(), 1.75, 1e-6);
  EXPECT_NEAR(lp_loss<Reduction::Sum>(x, t, 3).item(), 27.125, 1e-4);
  EXPECT_NEAR(smooth_l1_loss<Reduction::Sum>(x, t).item(), 0.125 + 2.5, 1e-6);
  EXPECT_NEAR(huber_loss<Reduction::Sum>(x, t, 2).item(), 0.125 + 4, 1e-6);
  EXPECT_NEAR(gaussian_nll_loss<Reduction::Sum>(x, t, row({1, 9})).item(), 0.125 + (std::log(9.0) + 1) / 2, 1e-5);
  EXPECT_NEAR(poisson_nll_loss<Reduction::Sum>(x, t).item(), 1 + std::exp(3.0), 1e-4);
}

TEST(LossTensors, CompareClasses) {
  const auto logits = Tensor<2>::of({{0, 0}, {0, 0}}, best_autodiff());
  const auto targets = Tensor<1, Int>::of({0, 1}, best_autodiff());
  const double one = std::log(2.0);
  EXPECT_NEAR(cross_entropy<Reduction::None>(logits, targets).to_vector()[1], one, 1e-6);
  EXPECT_NEAR(cross_entropy(logits, targets, {.ignore = 1}).item(), one, 1e-6);
  EXPECT_NEAR(cross_entropy<Reduction::Sum>(logits, targets, {.label_smoothing = 0.1}).item(), 2 * one, 1e-6);
  EXPECT_NEAR(cross_entropy(logits, logits.softmax(1)).item(), one, 1e-6);
  EXPECT_NEAR(nll_loss(logits.log_softmax(1), targets).item(), one, 1e-6);
  EXPECT_NEAR(multi_margin_loss(logits, targets).item(), 0.5, 1e-6);
  EXPECT_NEAR(kl_div(logits.log_softmax(1), logits.softmax(1)).item(), 0, 1e-6);
}

TEST(LossTensors, CompareTwoClasses) {
  const auto logits = row({0, 0}), halves = row({0.5, 0.5});
  const auto targets = Tensor<1, Bool>::of({true, false}, best_autodiff());
  const double one = std::log(2.0);
  EXPECT_NEAR(binary_cross_entropy(halves, targets).item(), one, 1e-6);
  EXPECT_NEAR(binary_cross_entropy_with_logits(logits, targets).item(), one, 1e-6);
  EXPECT_NEAR(sigmoid_focal_loss<Reduction::Sum>(logits, targets).item(), one / 4, 1e-6);
  EXPECT_NEAR(dice_loss(halves, targets, 0).item(), 1 - (1 / 1.5 + 0) / 2, 1e-5);
}

TEST(LossTensors, CompareWithMargins) {
  const auto x = row({0.5, 0.25}), z = row({0, 1});
  const auto y = Tensor<1, Int>::of({1, -1}, best_autodiff());
  EXPECT_NEAR(hinge_embedding_loss<Reduction::Sum>(x, y).item(), 1.25, 1e-6);
  EXPECT_NEAR(margin_ranking_loss<Reduction::Sum>(x, z, y, 0.1).item(), 0, 1e-6);
  EXPECT_NEAR(soft_margin_loss<Reduction::Sum>(x, y).item(), std::log1p(std::exp(-0.5)) + std::log1p(std::exp(0.25)),
              1e-6);
  EXPECT_NEAR(triplet_margin_loss(x, x, z).item(), 1 - std::hypot(0.5, 0.75), 1e-5);
  const auto a = Tensor<2>::of({{1, 0}, {1, 0}}, best_autodiff()), b = Tensor<2>::of({{2, 0}, {0, 1}}, best_autodiff());
  EXPECT_NEAR(cosine_embedding_loss<Reduction::Sum>(a, b, y).item(), 0, 1e-6);
}

TEST(LossTensors, CompareStyles) {
  const Tensor<3> x = ones({1, 2, 4}, best_autodiff());
  EXPECT_EQ(gram_matrix(x).to_vector(), std::vector<float>(4, 0.5));
  EXPECT_EQ(gram_matrix_loss(x, x * 2).item(), 2.25);
}

}  // namespace
}  // namespace kiln
