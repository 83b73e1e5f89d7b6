// YOLOX learns a handful of pictures by heart; how pictures are brought to it, and what wrong ones are told.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "kiln/core/random.hpp"
#include "kiln/nn/gradients.hpp"
#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/optim.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/train/metric/detection.hpp"
#include "kiln/vision/draw.hpp"
#include "models/detection/detect.hpp"
#include "models/detection/yolox_loss.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::models {
namespace {

using test::autodiff;
using test::cpu;

/// Rectangles whose colour tells their class.
AnnotatedPicture scene(std::uint64_t seed, std::int64_t side) {
  constexpr vision::Colour kColours[] = {{230, 60, 50}, {60, 200, 80}, {70, 90, 240}};
  Random random{Key{seed}};
  AnnotatedPicture item{.picture = blank(side, side, 3)};
  const double size = static_cast<double>(side);
  for (std::int64_t i = 0; i < 2; ++i) {
    const double width = std::round(random.uniform(0.25, 0.45) * size),
                 height = std::round(random.uniform(0.25, 0.45) * size);
    const double left = std::round(i == 0 ? random.uniform(0, 0.05) * size : size - width - 2);
    const double top = std::round(random.uniform(0, 0.5) * size);
    const auto label = static_cast<std::int64_t>(random.uniform(0, 3));
    vision::fill_rectangle(item.picture, left, top, left + width, top + height, kColours[label]);
    item.boxes.push_back({left, top, width, height, label});
  }
  return item;
}

double precision_of(const Yolox& model, const BoxedBatch& batch) {
  metric::MeanAveragePrecision precision;
  const NoGrad pause;
  const auto images = Tensor<4>::from_data(batch.images, cpu);
  const auto found = detections(valid(model).forward(images), {.least_score = 0.01, .overlap = 0.65});
  for (std::size_t i = 0; i < found.size(); ++i) {
    const TrueBoxes truth = true_boxes(batch.boxes[i], cpu);
    precision.update(found[i].boxes, found[i].scores, found[i].labels, truth.boxes, truth.labels);
  }
  return precision.value();
}

TEST(Yolox, LearnsAHandfulOfPicturesByHeart) {
  const Device device = autodiff;
  device.seed(3);
  std::vector<AnnotatedPicture> pictures;
  for (std::uint64_t i = 0; i < 4; ++i) pictures.push_back(scene(i, 64));
  const BoxedBatch batch = YoloxBatcher{}(pictures);
  Yolox model = train(YoloxConfig{.classes = 3, .width = 0.125, .momentum = 0.1}.init(device));
  AdamW optimizer = AdamWConfig{}.init(model);
  const auto images = Tensor<4>::from_data(batch.images, device);
  EXPECT_LT(precision_of(model, batch), 0.1);
  constexpr int kSteps = 200;
  for (int i = 0; i < kSteps; ++i) {
    const YoloxLoss loss{.distance_weight = i < kSteps / 2 ? 0.0 : 1.0};
    auto [value, grads] =
        value_and_grad(model, [&](const Yolox& m) { return loss.forward(m.forward(images), batch.boxes).loss; });
    model = optimizer.step(i < kSteps / 2 ? 1e-2 : 2.5e-3, std::move(model), grads);
  }
  EXPECT_GT(precision_of(model, batch), 0.9);

  // A picture of twice the size, and not square, is scaled for the network, and boxes are scaled back.
  Picture large = blank(160, 128, 3);
  const Picture small = pictures[0].picture;
  for (std::int64_t y = 0; y < 128; ++y)
    for (std::int64_t x = 0; x < 128; ++x) std::copy_n(small.at(y / 2, x / 2), 3, large.at(y, x));
  const Detections found = detect(model, large, {.side = 96});
  ASSERT_GT(found.scores.dim(0), 0);
  const auto corners = found.boxes.to_vector<double>();
  for (const double x : corners) EXPECT_TRUE(x >= 0 && x <= 160);
}

TEST(Letterboxed, ScalesToFitAndMovesBoxes) {
  AnnotatedPicture item{.picture = blank(20, 40, 3), .boxes = {{4, 2, 10, 6, 1}}};
  std::ranges::fill(item.picture.pixels, 200);
  const AnnotatedPicture seen = letterboxed(item, 64, 64);
  EXPECT_EQ(seen.picture.height, 64);
  EXPECT_EQ(seen.picture.width, 64);
  EXPECT_EQ(*seen.picture.at(10, 30), 200);
  EXPECT_EQ(*seen.picture.at(40, 30), 114);  // below the picture, whose 20 rows became 32
  ASSERT_EQ(seen.boxes.size(), 1);
  EXPECT_NEAR(seen.boxes[0].left, 6.4, 1e-9);
  EXPECT_NEAR(seen.boxes[0].height, 9.6, 1e-9);
  EXPECT_EQ(seen.boxes[0].label, 1);
}

TEST(YoloxBatcher, PutsBlueFirstAndLeavesSpecksOut) {
  AnnotatedPicture item{.picture = blank(1, 2, 3), .boxes = {{0, 0, 0.5, 3, 0}, {0, 0, 1, 1, 2}}};
  item.picture.pixels = {1, 2, 3, 4, 5, 6};
  const BoxedBatch batch = YoloxBatcher{}(std::span(&item, 1));
  EXPECT_EQ(batch.images.shape(), (Shape{1, 3, 1, 2}));
  EXPECT_EQ(batch.images.to_vector<float>(), (std::vector<float>{3, 6, 2, 5, 1, 4}));
  ASSERT_EQ(batch.boxes[0].size(), 1);
  EXPECT_EQ(batch.boxes[0][0].label, 2);
  EXPECT_EQ(sentence_of([&] { return YoloxBatcher{}({}); }),
            "ShapeError: YoloxBatcher: a batch needs at least one picture");
  const AnnotatedPicture others[] = {{.picture = blank(4, 4, 3)}, {.picture = blank(4, 5, 3)}};
  EXPECT_EQ(sentence_of([&] { return YoloxBatcher{}(others); }),
            "ShapeError: YoloxBatcher: pictures must be 4 x 4 with 3 channels as the first, got 4 x 5 with 3");
}

TEST(Yolox, SaysWhatItDoesNotTake) {
  const Yolox model = YoloxConfig{.classes = 2, .width = 0.0625}.init(cpu);
  EXPECT_EQ(sentence_of([&] { return model.forward(zeros({1, 3, 64, 80}, cpu)).raw; }),
            "ShapeError: Yolox: height and width of float32 [1, 3, 64, 80] must be multiples of 32; letterboxed() "
            "brings pictures to such a size");
  EXPECT_EQ(sentence_of([&] { return model.forward(zeros({1, 1, 64, 64}, cpu)).raw; }),
            "ShapeError: Yolox: images must be [batch, 3, height, width], got float32 [1, 1, 64, 64]");
  EXPECT_EQ(sentence_of([&] { return model.forward(zeros({0, 3, 64, 64}, cpu)).raw; }),
            "ShapeError: Yolox: a batch needs at least one image, got float32 [0, 3, 64, 64]");
  EXPECT_EQ(sentence_of([&] { return detect(model, blank(8, 8, 3), {.side = 100}).boxes; }),
            "ArgumentError: detect: side = 100 must be a multiple of 32");
  EXPECT_EQ(sentence_of([&] { return detect(model, blank(8, 8, 1)).boxes; }),
            "ShapeError: YoloxBatcher: pictures must be 416 x 416 with 3 channels as the first, got 416 x 416 with 1");
  EXPECT_EQ(sentence_of([] { return yolox("huge"); }),
            "ArgumentError: yolox: there is no model 'huge'; there are nano, tiny, s, m, l and x");
  EXPECT_EQ(sentence_of([] { return YoloxConfig{.width = 0.01}.init(cpu); }),
            "ArgumentError: YoloxConfig: width = 0.01 makes 0 channels of 64; they must be an even number from 2 to "
            "1024");
  EXPECT_EQ(sentence_of([] { return YoloxConfig{.classes = 0}.init(cpu); }),
            "ArgumentError: YoloxConfig: classes = 0 must lie between 1 and 1000000");
}

}  // namespace
}  // namespace kiln::models
