// The loss of segmenters against a loop over doubles, and a U-Net that learns some pictures by heart.
#include <cmath>
#include <utility>

#include <gtest/gtest.h>

#include "kiln/core/random.hpp"
#include "kiln/data/picture/masked.hpp"
#include "kiln/nn/gradients.hpp"
#include "kiln/optim.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/train/metric/ratio.hpp"
#include "kiln/vision/draw.hpp"
#include "models/segmentation.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::models {
namespace {

using test::autodiff;
using test::cpu;

constexpr std::int64_t kBatch = 2, kKinds = 3, kPixels = 12;  // 3 x 4 pixels

/// logits [batch, classes, pixels], classes [batch, pixels], of which 255 is ignored.
double loss_of(const std::vector<double>& logits, const std::vector<std::int64_t>& classes) {
  double entropy = 0, count = 0, dice = 0;
  std::vector<double> both(kKinds), all(kKinds);
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (std::int64_t p = 0; p < kPixels; ++p) {
      const std::int64_t right = classes[static_cast<std::size_t>(b * kPixels + p)];
      if (right == 255) continue;
      std::vector<double> chances;
      double sum = 0;
      for (std::int64_t c = 0; c < kKinds; ++c) {
        chances.push_back(std::exp(logits[static_cast<std::size_t>((b * kKinds + c) * kPixels + p)]));
        sum += chances.back();
      }
      for (std::size_t c = 0; c < kKinds; ++c) {
        const double chance = chances[c] / sum, is_right = std::cmp_equal(right, c) ? 1 : 0;
        both[c] += chance * is_right;
        all[c] += chance + is_right;
        if (is_right > 0) entropy -= std::log(chance);
      }
      ++count;
    }
  for (std::size_t c = 0; c < kKinds; ++c) dice += (1 - (2 * both[c] + 1) / (all[c] + 1)) / kKinds;
  return entropy / count + 0.5 * dice;
}

TEST(SegmentationLoss, IsThatOfALoopAndSoIsItsGradient) {
  Random random(Key{2});
  std::vector<double> logits;
  for (std::int64_t i = 0; i < kBatch * kKinds * kPixels; ++i)
    logits.push_back(static_cast<double>(static_cast<float>(random.normal())));
  std::vector<std::int64_t> classes;
  for (std::int64_t i = 0; i < kBatch * kPixels; ++i)
    classes.push_back(i % 7 == 3 ? 255 : static_cast<std::int64_t>(random.uniform(0, kKinds)));
  const auto leaf =
      Tensor<4>::from_data(TensorData::of<double>({kBatch, kKinds, 3, 4}, logits), autodiff).require_grad();
  const auto targets = Tensor<3, Int>::from_data(TensorData::of<std::int64_t>({kBatch, 3, 4}, classes), cpu);
  const Tensor<0> loss = SegmentationLoss{.dice = 0.5}.forward(leaf, targets);
  EXPECT_NEAR(loss.item<double>(), loss_of(logits, classes), 1e-6);
  const std::vector<double> slope = loss.backward().of(leaf).to_vector<double>();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    constexpr double kStep = 1e-5;
    const double before = std::exchange(logits[i], logits[i] + kStep), above = loss_of(logits, classes);
    logits[i] = before - kStep;
    const double below = loss_of(logits, classes);
    logits[i] = before;
    EXPECT_NEAR(slope[i], (above - below) / (2 * kStep), 1e-6) << i;
  }
}

TEST(SegmentationLoss, OfPixelsThatAreAllIgnoredIsNothing) {
  const auto logits = zeros({1, 2, 2, 2}, cpu);
  EXPECT_EQ(SegmentationLoss{}.forward(logits, full<Int>({1, 2, 2}, 255, cpu)).item(), 0);
  EXPECT_EQ(sentence_of([&] { return SegmentationLoss{}.forward(logits, full<Int>({1, 2, 2}, 2, cpu)); }).substr(0, 10),
            "IndexError");
  EXPECT_EQ(sentence_of([&] { return SegmentationLoss{}.forward(logits, full<Int>({1, 2, 3}, 0, cpu)); }).substr(0, 10),
            "ShapeError");
}

/// Rectangles of two colours on a ground, and their classes.
AnnotatedPicture rectangles(std::uint64_t seed, std::int64_t side) {
  Random random(Key{seed});
  const double size = static_cast<double>(side);
  AnnotatedPicture item{.picture = blank(side, side, 3), .masks = {blank(side, side, 1)}};
  for (const std::uint8_t number : {1, 2}) {
    const double left = std::round(random.uniform(0, 0.6) * size), top = std::round(random.uniform(0, 0.6) * size);
    const auto fill = [&](Picture& picture, const vision::Colour& colour) {
      vision::fill_rectangle(picture, left, top, left + 0.4 * size, top + 0.4 * size, colour);
    };
    const std::uint8_t other = number == 1 ? 200 : 60;
    fill(item.picture, {200, other, 90});
    fill(item.masks[0], {number, number, number});
  }
  return item;
}

TEST(UNet, LearnsSomePicturesByHeart) {
  const Device device = autodiff;
  device.seed(4);
  std::vector<AnnotatedPicture> pictures;
  for (std::uint64_t i = 0; i < 4; ++i) pictures.push_back(rectangles(i, 32));
  const MaskedBatch batch = MaskedBatcher{}(pictures);
  const auto images = Tensor<4>::from_data(batch.images, device);
  const auto classes = Tensor<3, Int>::from_data(batch.classes, device);
  UNet model = train(UNetConfig{.channels = 3, .classes = 3, .width = 4, .depth = 2}.init(device));
  AdamW optimizer = AdamWConfig{}.init(model);
  for (int i = 0; i < 120; ++i) {
    auto [loss, grads] =
        value_and_grad(model, [&](const UNet& m) { return SegmentationLoss{}.forward(m.forward(images), classes); });
    model = optimizer.step(1e-2, std::move(model), grads);
  }
  metric::Iou overlap;
  overlap.update(valid(model).forward(images.detach()).detach(), classes);
  EXPECT_GT(overlap.value(), 0.9);

  // A picture of another size, which the model does not take as it is: three of those beside each other, cut off.
  const Picture& one = pictures[0].picture;
  Picture wide = blank(30, 77, 3), right = blank(30, 77, 1);
  for (std::int64_t y = 0; y < 30; ++y)
    for (std::int64_t x = 0; x < 77; ++x) {
      std::copy_n(one.at(y, x % 32), 3, wide.at(y, x));
      *right.at(y, x) = *pictures[0].masks[0].at(y, x % 32);
    }
  const Picture seen = segment(model, wide);
  EXPECT_EQ(seen.height, 30);
  EXPECT_EQ(seen.width, 77);
  EXPECT_EQ(seen.channels, 1);
  double same = 0;
  for (std::size_t i = 0; i < seen.pixels.size(); ++i) same += seen.pixels[i] == right.pixels[i];
  EXPECT_GT(same / static_cast<double>(seen.pixels.size()), 0.85);
  EXPECT_EQ(sentence_of([&] { return segment(model, blank(8, 8, 1)).pixels; }).substr(0, 12), "ArgumentErro");
}

}  // namespace
}  // namespace kiln::models
