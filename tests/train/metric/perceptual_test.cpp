// Metrics of what a network sees in images, against scipy and torchmetrics.
#include <gtest/gtest.h>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/train/metric/frechet.hpp"
#include "kiln/train/metric/perceptual.hpp"
#include "tests/support/sentence.hpp"
#include "tests/train/metric/metric_data.hpp"

namespace kiln {
namespace {

TEST(Metrics, TheDistanceOfCloudsIsScipys) {
  constexpr std::int64_t kPoints = 90, kFeatures = 6;
  auto real = noise(62, kPoints * kFeatures), made = noise(63, kPoints * kFeatures);
  for (std::size_t i = 0; i < real.size(); i += kFeatures) {
    made[i + 1] += real[i] / 2 + 0.25;
    real[i + 3] = real[i + 2] / 4 + real[i + 3] / 64 + 10;
  }
  expect_metric(value_of("FrechetDistance"), metric::FrechetDistance{}, kPoints,
                [&](metric::FrechetDistance& m, std::int64_t begin, std::int64_t end) {
                  m.update(rows<2>(made, {kPoints, kFeatures}, begin, end),
                           rows<2>(real, {kPoints, kFeatures}, begin, end));
                });
  metric::FrechetDistance same;
  const auto points = rows<2>(real, {kPoints, kFeatures}, 0, kPoints);
  same.update(points, points);
  EXPECT_NEAR(same.value(), 0, 1e-9);
  metric::FrechetDistance few;
  EXPECT_EQ(sentence_of([&] { return few.value(); }), "ArgumentError: frechet distance: nothing was measured");
  few.update(rows<2>(made, {kPoints, kFeatures}, 0, 1), points);
  EXPECT_EQ(sentence_of([&] { return few.value(); }),
            "ArgumentError: frechet distance: one point does not vary; there must be two of each kind");
  EXPECT_EQ(sentence_of([&] { return few.update(rows<2>(made, {kPoints, 3}, 0, 1), points), 0; }),
            "ShapeError: frechet distance: 3 features after 6");
}

// Maps that stand for what three layers of a network see in three images.
const std::vector<Shape> kMaps = {{3, 3, 6, 5}, {3, 4, 4, 4}, {3, 2, 3, 3}};

metric::FeatureMaps maps(std::uint64_t stream, std::int64_t begin, std::int64_t end) {
  metric::FeatureMaps made;
  for (std::size_t i = 0; i < kMaps.size(); ++i)
    made.push_back(rows<4>(noise(stream + i, numel(kMaps[i])), kMaps[i], begin, end));
  return made;
}
metric::ChannelWeights weights(std::uint64_t stream) {
  metric::ChannelWeights made;
  for (std::size_t i = 0; i < kMaps.size(); ++i)
    made.push_back(rows<1>(noise(stream + i, kMaps[i][1]), {kMaps[i][1]}, 0, kMaps[i][1]));
  return made;
}

TEST(Metrics, WhatImagesLookLikeIsTorchmetrics) {
  expect_metric(value_of("Lpips"), metric::Lpips{}, 3, [](metric::Lpips& m, std::int64_t begin, std::int64_t end) {
    m.update(maps(70, begin, end), maps(75, begin, end), weights(80));
  });
  expect_metric(value_of("Dists"), metric::Dists{}, 3, [](metric::Dists& m, std::int64_t begin, std::int64_t end) {
    m.update(maps(70, begin, end), maps(75, begin, end), weights(85), weights(90));
  });
  const auto same = maps(70, 0, 3);
  EXPECT_NEAR(metric::lpips(same, same, weights(80)).sum().item(), 0, 1e-12);
  EXPECT_NEAR(metric::dists(same, same, weights(85), weights(90)).sum().item(), 0, 1e-12);
  EXPECT_EQ(sentence_of([&] { return metric::lpips(same, {}, weights(80)).numel(); }),
            "ShapeError: lpips: 3 and 0 layers, and weights of 3");
  auto wrong = weights(80);
  std::swap(wrong[0], wrong[1]);
  EXPECT_EQ(sentence_of([&] { return metric::lpips(same, same, wrong).numel(); }),
            "ShapeError: lpips: layer 0 has maps [3, 3, 6, 5] and [3, 3, 6, 5], and weights [4]");
}

TEST(Metrics, WhatImagesLookLikeIsALoss) {
  auto made = maps(70, 0, 3);
  made[1] = made[1].to_device(Device::cpu().autodiff()).require_grad();
  const auto right = maps(75, 0, 3);
  const auto loss = [&](const metric::FeatureMaps& of) {
    return metric::lpips(of, right, weights(80)).sum() + metric::dists(of, right, weights(85), weights(90)).sum();
  };
  const auto gradient = loss(made).backward().of(made[1]).to_vector<double>();
  constexpr double kStep = 1e-5;
  auto numbers = made[1].to_vector<double>();
  for (const std::size_t i : {0u, 17u, 100u}) {
    const auto moved = [&](double by) {
      auto there = numbers;
      there[i] += by;
      metric::FeatureMaps of = made;
      of[1] = rows<4>(there, kMaps[1], 0, 3);
      return loss(of).item<double>();
    };
    EXPECT_NEAR(gradient[i], (moved(kStep) - moved(-kStep)) / (2 * kStep), 1e-7);
  }
}

}  // namespace
}  // namespace kiln
