// Histograms and thresholds beside OpenCV's.
#include "kiln/vision/histogram.hpp"

#include <limits>

#include "tests/vision/figures.hpp"

namespace kiln::vision {
namespace {

TEST(Histogram, CountsAsOpenCvDoes) {
  expect_same(histogram(stored_value("bytes")), "histogram.bytes");
  expect_same(histogram(stored_value("floats"), {.count = 10, .low = -0.25, .high = 1}), "histogram.floats");
}

TEST(Histogram, LeavesOutWhatLiesOutside) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
  const Value x = from_data(TensorData::of<float>({1, 1, 1, 6}, {0, 0.5f, 1, -0.1f, kNan, kInfinity}), test::cpu);
  EXPECT_EQ(histogram(x, {.count = 2, .low = 0, .high = 1}).data().to_vector<int>(), (std::vector{1, 1}));
  EXPECT_EQ(histogram(zeros({2, 3, 0, 4}, test::cpu), {.count = 5}).shape(), (Shape{2, 3, 5}));
}

TEST(Histogram, IsEqualizedAsByOpenCv) {
  expect_same(equalized(stored_value("bytes")), "equalized");
  EXPECT_EQ(equalized(bytes(1, 2, {77, 77})).data().to_vector<int>(), (std::vector{77, 77}));
  EXPECT_EQ(equalized(bytes(1, 1, {9})).item(), 9);
}

TEST(Histogram, GivesOtsusLevels) {
  const Value x = stored_value("bytes");
  expect_near(otsu_levels(x), "otsu", 0);
  // Floats that are the same numbers have the same level, by bins of the same width.
  expect_near(otsu_levels(cast(x, DType::F32) / 256.0, {.high = 1}) * 256.0, "otsu", 1e-9);
  EXPECT_EQ(otsu_levels(bytes(2, 2, {5, 5, 5, 5})).item(), 0);
  EXPECT_EQ(otsu_levels(zeros({1, 1, 0, 0}, test::cpu)).item(), 0);
}

TEST(Threshold, IsOpenCvs) {
  for (int i = 0; i < 5; ++i) {
    const auto kind = static_cast<ThresholdKind>(i);
    expect_same(threshold(stored_value("bytes"), 99.7, {kind, 200}), text("threshold.bytes.", i));
    expect_same(threshold(stored_value("floats"), 0.4f, {kind, 2}), text("threshold.floats.", i));
  }
}

TEST(Threshold, TakesALevelForEachChannel) {
  const Value x = stored_value("bytes"), levels = otsu_levels(x);
  const Value split = threshold(x, levels, {.value = 1});
  for (std::int64_t i = 0; i < 2; ++i)
    for (std::int64_t j = 0; j < 3; ++j) {
      const Value channel = narrow(narrow(x, 0, i, 1), 1, j, 1);
      EXPECT_EQ(difference(narrow(narrow(split, 0, i, 1), 1, j, 1).data(),
                           threshold(channel, at(at(levels, 0, i), 0, j).item(), {.value = 1}).data()),
                "");
    }
  // A value that a type lacks becomes the nearest.
  EXPECT_EQ(threshold(bytes(1, 1, {9}), 3, {.value = 1000}).item(), 255);
}

TEST(Threshold, HasGradients) {
  expect_gradients(numbers_of({1, 1, 3, 4}), [](const Value& v) { return threshold(v, 0.5, {ThresholdKind::ToZero}); });
  expect_gradients(numbers_of({1, 1, 3, 4}),
                   [](const Value& v) { return threshold(v, 0.5, {ThresholdKind::Truncate}); });
}

TEST(Histogram, SaysWhatIsWrong) {
  const Value x = stored_value("floats");
  EXPECT_EQ(sentence_of([&] { return histogram(x, {.count = 0}); }),
            "ArgumentError: histogram: 0 bins; there are 1 to 2^24");
  EXPECT_EQ(sentence_of([&] { return histogram(x, {.low = 1, .high = 1}); }),
            "ArgumentError: histogram: bins from 1 to 1 must be in order and finite");
  EXPECT_EQ(sentence_of([&] { return equalized(x); }), "DTypeError: equalized: needs uint8, got float32");
  EXPECT_EQ(sentence_of([&] { return threshold(x, zeros({3}, test::cpu)); }),
            "ShapeError: threshold: levels [3] must be [batch, channels] of pictures [2, 3, 13, 17]");
  EXPECT_EQ(sentence_of([&] { return threshold(x, 1, {static_cast<ThresholdKind>(7)}); }),
            "ArgumentError: threshold: there is no kind of threshold of number 7");
}

}  // namespace
}  // namespace kiln::vision
