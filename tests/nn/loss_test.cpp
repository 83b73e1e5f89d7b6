// Losses against PyTorch 2.15 in float64: F.cross_entropy and F.mse_loss on the same sines.
#include "kiln/nn/loss/loss.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "sines.hpp"
#include "tests/support/devices.hpp"

namespace kiln {
namespace {

using nn::CrossEntropyLoss;

using test::cpu;
Tensor<2> logits() { return sines_of<2>({3, 4}, .7); }
Tensor<1, Int> targets() { return Tensor<1, Int>::of({1, 3, 0}, cpu); }
Tensor<1> weights() { return Tensor<1>::of({.5, 2, 1, .25}, cpu); }
double loss_of(const CrossEntropyLoss& loss) { return loss.forward(logits(), targets()).item(); }

TEST(CrossEntropyLoss, MatchesPyTorchWithEachOption) {
  EXPECT_NEAR(loss_of({}), 1.974953, 1e-5);
  EXPECT_NEAR(loss_of({.reduction = Reduction::Sum}), 5.924858, 1e-5);
  EXPECT_NEAR(loss_of({.label_smoothing = 0.1}), 1.928855, 1e-5);
  EXPECT_NEAR(loss_of({.class_weights = weights()}), 1.671029, 1e-5);
  EXPECT_NEAR(loss_of({.ignore = 3}), 1.939754, 1e-5);
}

TEST(CrossEntropyLoss, MatchesPyTorchWithAllOptionsTogether) {
  const CrossEntropyLoss loss{.label_smoothing = 0.2, .class_weights = weights(), .ignore = 3};
  EXPECT_NEAR(loss_of(loss), 1.536577, 1e-5);
  expect_values(loss.forward_each(logits(), targets()), {3}, {2.551522, 0, 1.289922});
}

TEST(CrossEntropyLoss, MayIgnoreATargetThatIsNoClassAtAll) {
  const CrossEntropyLoss loss{.ignore = -100};
  const double all = loss.forward(logits(), Tensor<1, Int>::of({1, -100, 0}, cpu)).item();
  EXPECT_NEAR(all, 1.939754, 1e-5);  // as with the second row ignored above
  EXPECT_TRUE(std::isnan(loss.forward(logits(), Tensor<1, Int>::of({-100, -100, -100}, cpu)).item()));
}

TEST(CrossEntropyLoss, TakesNothingFromAnIgnoredRowWhateverItHolds) {
  for (const float hazard : {-INFINITY, INFINITY, NAN}) {
    const auto scores = Tensor<2>::of({{hazard, 0}, {0, 0}}, cpu.autodiff()).require_grad();
    const auto loss = CrossEntropyLoss{.ignore = -100}.forward(scores, Tensor<1, Int>::of({-100, 1}, cpu));
    EXPECT_NEAR(loss.item(), std::log(2), 1e-6) << hazard;
    expect_values(loss.backward().of(scores), {2, 2}, {0, 0, .5, -.5});
  }
}

TEST(CrossEntropyLoss, SaysWhatIsWrong) {
  EXPECT_THROW(loss_of({.label_smoothing = 1.5}), ArgumentError);
  EXPECT_THROW(loss_of({.class_weights = Tensor<1>::of({1, 2}, cpu)}), ShapeError);
  EXPECT_THROW(CrossEntropyLoss{}.forward(logits(), Tensor<1, Int>::of({1, 3}, cpu)), ShapeError);
  EXPECT_THROW(CrossEntropyLoss{}.forward(logits(), Tensor<1, Int>::of({1, 4, 0}, cpu)).item(), IndexError);
}

TEST(MseLoss, IsTheMeanOrSumOfSquares) {
  const auto x = sines_of<2>({2, 2}), y = sines_of<2>({2, 2}, .5, 1);
  EXPECT_NEAR(nn::MseLoss{}.forward(x, y).item(), 0.3139973, 1e-6);
  EXPECT_NEAR(nn::MseLoss{.reduction = Reduction::Sum}.forward(x, y).item(), 4 * 0.3139973, 4e-6);
  EXPECT_THROW(nn::MseLoss{}.forward(x, sines_of<2>({1, 2})), ShapeError);
}

}  // namespace
}  // namespace kiln
