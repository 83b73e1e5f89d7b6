// Losses of boxes against torchvision 0.29's generalized_box_iou_loss, distance_box_iou_loss and complete_box_iou_loss, and
// its box_iou, in float64; it adds 1e-7 to areas.
#include <gtest/gtest.h>

#include "kiln/nn/loss/of_boxes.hpp"

#include "expect_loss.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::cpu;

/// Boxes that meet, cross, and are far apart.
Tensor<2> predicted() { return Tensor<2>::of({{1, 2, 5, 4}, {0, 0, 2, 6}, {3, 3, 4, 4}}, cpu).to(DType::F64); }
Tensor<2> right() { return Tensor<2>::of({{2, 1, 6, 5}, {1, 1, 7, 3}, {6, 5, 9, 9}}, cpu).to(DType::F64); }

template <class Loss>
void expect_torchvisions(const Doubles& each, const Doubles& slopes) {
  const Tensor<2> x = predicted().to_device(Device::cpu().autodiff()).require_grad();
  const auto loss = Loss{.reduction = Reduction::Sum}.forward(x, right());
  const Doubles losses = Loss{}.forward_each(x, right()).template to_vector<double>(),
                found = loss.backward().of(x).template to_vector<double>();
  for (std::size_t i = 0; i < each.size(); ++i) EXPECT_NEAR(losses[i], each[i], 1e-6) << i;
  for (std::size_t i = 0; i < slopes.size(); ++i) EXPECT_NEAR(found[i], slopes[i], 1e-6) << i;
  expect_loss(Loss{}, losses, predicted(), right());
}

TEST(BoxLosses, AreTorchvisions) {
  expect_torchvisions<nn::GiouLoss>(
      {0.7666666680185186, 1.3852813845608216, 1.6388888871141976},
      {-0.117037036326, 0.198148147178, -0.111111110494, -0.198148147178, 0.0432338223561, -0.0479470025118,
       -0.169618260038, 0.0479470025118, -0.0324074076132, -0.0324074076132, -0.0277777777006, -0.0277777777006});
  expect_torchvisions<nn::DiouLoss>(
      {0.6910569123614692, 1.0267379681892532, 1.3923611105661653},
      {-0.0554784405213, 0.148148147428, -0.135501354337, -0.148148147428, -0.0407103432257, 0.0201092396344,
       -0.109674282632, 0.00342017210259, 0.00983796285847, 0.0167824072933, -0.0555555554784, -0.0486111110436});
  expect_torchvisions<nn::CiouLoss>(
      {0.6935410881357943, 1.1233107960728328, 1.3924271623229818},
      {-0.0570226030661, 0.151236472518, -0.133957191792, -0.151236472518, -0.00946695082745, 0.00969477550168,
       -0.14091767503, 0.0138346362353, 0.00937247217581, 0.0172478979759, -0.0550900647957, -0.0490766017263});
  expect_loss(nn::IouLoss{}, {2.0 / 3, 10.0 / 11, 1}, predicted(), right());
}

TEST(BoxIou, ComparesEachBoxWithEach) {
  const Doubles found = box_iou(predicted(), right()).to_vector<double>();
  const Doubles wanted{1.0 / 3, 0.25, 0, 0, 1.0 / 11, 0, 1.0 / 16, 0, 0};
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-6) << i;
}

TEST(BoxIou, OfPointsAndOfBoxesThatEndBeforeTheyBeginIsNothing) {
  const auto odd = Tensor<2>::of({{2, 2, 2, 2}, {5, 5, 1, 1}}, Device::cpu().autodiff()).require_grad();
  EXPECT_EQ(box_iou(odd, odd).to_vector(), (std::vector<float>{0, 0, 0, 0}));
  for (const BoxOverlap kind : {BoxOverlap::Iou, BoxOverlap::Giou, BoxOverlap::Diou, BoxOverlap::Ciou}) {
    const auto loss = box_iou_loss<Reduction::Sum>(odd, odd, kind);
    EXPECT_TRUE(std::isfinite(loss.item())) << int(kind);
    for (const float slope : loss.backward().of(odd).to_vector()) EXPECT_TRUE(std::isfinite(slope)) << int(kind);
  }
}

TEST(BoxIou, OfHalvesIsNotLostInTheirAreas) {
  const auto pixels = Tensor<2>::of({{0, 0, 640, 480}}, cpu).to(DType::F16);
  const auto half = Tensor<2>::of({{0, 0, 320, 240}}, cpu).to(DType::F16);
  EXPECT_EQ(box_iou(pixels, half).to_vector(), (std::vector<float>{0.25}));
  EXPECT_EQ(box_iou(pixels, pixels).dtype(), DType::F16);
}

TEST(BoxLosses, SayWhatIsWrong) {
  EXPECT_EQ(sentence_of([] { return nn::CiouLoss{}.forward(predicted(), right().narrow(0, 0, 1)); }),
            "ShapeError: box_iou_loss: [3, 4] and [1, 4] differ");
}

}  // namespace
}  // namespace kiln
