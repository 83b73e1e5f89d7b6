// Metrics of numbers, images and boxes against scikit-learn and torchmetrics; a metric of one's own.
#include <gtest/gtest.h>

#include <limits>

#include "kiln/train/metric/detection.hpp"
#include "kiln/train/metric/image.hpp"
#include "kiln/train/metric/regression.hpp"
#include "tests/support/sentence.hpp"
#include "tests/train/metric/metric_data.hpp"

namespace kiln {
namespace {

TEST(Metrics, OfNumbersAreScikitLearns) {
  const auto truth = map_each(noise(6, 2 * kItems), [](double x, std::size_t) { return 1e4 + 3 * x; });
  const auto more = noise(7, 2 * kItems);
  const auto guess = map_each(truth, [&](double x, std::size_t i) { return x + more[i] - 0.25; });
  const auto update = [&](auto& m, std::int64_t begin, std::int64_t end) {
    m.update(rows<2>(guess, {kItems, 2}, begin, end), rows<2>(truth, {kItems, 2}, begin, end));
  };
  expect_metric(value_of("MeanAbsoluteError"), metric::MeanAbsoluteError{}, kItems, update);
  expect_metric(value_of("MeanSquaredError"), metric::MeanSquaredError{}, kItems, update);
  expect_metric(value_of("RootMeanSquaredError"), metric::RootMeanSquaredError{}, kItems, update);
  expect_metric(value_of("MeanAbsolutePercentageError"), metric::MeanAbsolutePercentageError{}, kItems, update);
  expect_metric(value_of("R2"), metric::R2{}, kItems, update);
}

TEST(Metrics, AMeanIsThatOfItemsNotOfBatches) {
  metric::Mean loss;
  loss.update(1.0, 3);
  loss.update(5.0, 1);
  EXPECT_DOUBLE_EQ(loss.value(), 2.0);
  metric::Perplexity perplexity;
  perplexity.update(std::log(2.0), 3);
  perplexity.update(std::log(32.0), 1);
  EXPECT_DOUBLE_EQ(perplexity.value(), 4.0);
}

TEST(Metrics, OfImagesAreThoseOfScikitImage) {
  const auto pair = [](std::uint64_t stream, std::int64_t count) {
    const auto left = noise(stream, count), more = noise(stream + 1, count);
    return std::pair(left,
                     map_each(left, [&](double x, std::size_t i) { return std::clamp(x + more[i] / 4, 0.0, 1.0); }));
  };
  const auto check = [](double expected, auto metric, const auto& images, const Shape& shape) {
    expect_metric(expected, metric, shape[0], [&](auto& m, std::int64_t begin, std::int64_t end) {
      m.update(rows<4>(images.second, shape, begin, end), rows<4>(images.first, shape, begin, end));
    });
  };
  const auto small = pair(8, 2 * 3 * 24 * 20), large = pair(10, 2 * 176 * 180);
  check(value_of("Psnr"), metric::Psnr{}, small, Shape{2, 3, 24, 20});
  check(value_of("Ssim"), metric::Ssim{}, small, Shape{2, 3, 24, 20});
  check(value_of("MsSsim"), metric::MsSsim{}, large, Shape{2, 1, 176, 180});

  const auto image = zeros({1, 1, 8, 8}, Device::cpu());
  metric::Psnr same;
  same.update(image, image);
  EXPECT_EQ(same.value(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(sentence_of([&] {
              metric::Ssim{}.update(image, image);
              return 0;
            }),
            "ShapeError: ssim: images [1, 1, 8, 8] are smaller than 11 x 11");
}

TEST(Metrics, OfBoxesAreThoseOfPycocotools) {
  const Device cpu = Device::cpu();
  const auto update = [&](metric::MeanAveragePrecision& m, std::int64_t begin, std::int64_t end) {
    for (auto image = static_cast<std::uint64_t>(begin); image < static_cast<std::uint64_t>(end); ++image) {
      const auto corners = map_each(noise(20 + image, 24), [](double x, std::size_t) { return std::floor(x * 40); });
      const auto boxes =
          map_each(corners, [&](double x, std::size_t i) { return i % 4 < 2 ? x : x + corners[i - 2] + 8; });
      const auto shifts = noise(30 + image, 32);
      std::vector<double> found = boxes;
      for (std::size_t i = 0; i < 8; ++i) found.push_back(boxes[i] + 30);
      found = map_each(found, [&](double x, std::size_t i) { return x + std::floor(shifts[i] * 6); });
      auto kinds = map_each(noise(40 + image, 6), [](double x, std::size_t) { return std::floor(x * 3); });
      const auto truth = int_rows<1>(kinds, {6}, 0, 6);
      kinds.push_back(kinds[0]);
      kinds.push_back(kinds[1]);
      m.update(rows<2>(found, {8, 4}, 0, 8), rows<1>(noise(50 + image, 8), {8}, 0, 8), int_rows<1>(kinds, {8}, 0, 8),
               rows<2>(boxes, {6, 4}, 0, 6), truth);
    }
  };
  expect_metric(value_of("MeanAveragePrecision"), metric::MeanAveragePrecision{}, 4, update);
  metric::MeanAveragePrecision metric;
  update(metric, 0, 4);
  EXPECT_NEAR(metric.at(0.5), value_of("MeanAveragePrecision50"), 1e-6);
  EXPECT_EQ(sentence_of([&] { return metric.at(0.52); }),
            "ArgumentError: mean average precision: 0.52 is none of the thresholds 0.5, 0.55, ... 0.95");
}

TEST(Metrics, OfNothingGetSentences) {
  EXPECT_EQ(sentence_of([] { return metric::MeanAbsoluteError{}.value(); }),
            "ArgumentError: mean_absolute_error: nothing was measured");
  EXPECT_EQ(sentence_of([] { return metric::R2{}.value(); }), "ArgumentError: r2: nothing was measured");
  EXPECT_EQ(sentence_of([] { return metric::Perplexity{}.value(); }),
            "ArgumentError: perplexity: nothing was measured");
  EXPECT_EQ(sentence_of([] { return metric::MeanAveragePrecision{}.value(); }),
            "ArgumentError: mean average precision: nothing was measured");
  metric::R2 one;
  one.update(zeros({1}, Device::cpu()), zeros({1}, Device::cpu()));
  EXPECT_EQ(sentence_of([&] { return one.value(); }), "ArgumentError: r2: one item does not vary; there must be two");
}

// A metric of one's own: options, what adds up, an update and a value.
struct WithinReach {
  double reach = 1;
  metric::Total within{}, count{};

  void update(const Tensor<1>& predictions, const Tensor<1>& targets) {
    within += (predictions - targets).abs().le(reach).to_float().sum().item();
    count += static_cast<double>(targets.numel());
  }
  double value() const { return metric::mean("within reach", within, count); }
};

TEST(Metrics, OfOnesOwnMergeAndBeginAnew) {
  EXPECT_EQ(metric::name_of<WithinReach>(), "within_reach");
  const auto error = noise(9, 64);
  double within = 0;
  for (const double x : error) within += x <= 0.25;
  expect_metric(within / 64, WithinReach{.reach = 0.25}, 64, [&](WithinReach& m, std::int64_t begin, std::int64_t end) {
    m.update(rows<1>(error, {64}, begin, end), zeros({end - begin}, Device::cpu()));
  });
  EXPECT_EQ(metric::fresh(WithinReach{.reach = 0.25, .within = {3}}).reach, 0.25);
}

}  // namespace
}  // namespace kiln
