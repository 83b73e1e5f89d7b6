// Metrics of classification against scikit-learn, and what they say of wrong data.
#include <gtest/gtest.h>

#include <cstdint>

#include "kiln/train/metric/accuracy.hpp"
#include "kiln/train/metric/ranking.hpp"
#include "kiln/train/metric/ratio.hpp"
#include "tests/support/sentence.hpp"
#include "tests/train/metric/metric_data.hpp"

namespace kiln {
namespace {

using metric::Average;

struct Data {
  std::vector<double> classes =
      map_each(noise(2, kItems), [](double x, std::size_t) { return std::floor(x * kClasses); });
  std::vector<double> scores = map_each(noise(1, kItems* kClasses), [&](double x, std::size_t i) {
    return x + (static_cast<double>(i % kClasses) == classes[i / kClasses] ? 0.25 : 0);
  });
  std::vector<double> coarse =
      map_each(noise(3, kItems), [](double x, std::size_t) { return std::floor(x * 16) / 16; });
  std::vector<double> yes =
      map_each(noise(4, kItems), [&](double x, std::size_t i) { return x < 0.25 + coarse[i] / 2; });
  std::vector<double> labels = map_each(noise(5, kItems* kClasses), [](double x, std::size_t) { return x < 0.3; });
  std::vector<double> chances = map_each(scores, [&](double x, std::size_t i) {
    double sum = 0;
    for (std::size_t c = 0; c < kClasses; ++c) sum += scores[i / kClasses * kClasses + c];
    return x / sum;
  });
};
const Data& data() {
  static const Data made;
  return made;
}

template <class M>
void expect_of_classes(double expected, const M& metric) {
  expect_metric(expected, metric, kItems, [](M& m, std::int64_t begin, std::int64_t end) {
    m.update(rows<2>(data().scores, {kItems, kClasses}, begin, end), int_rows<1>(data().classes, {kItems}, begin, end));
  });
}
template <class M>
void expect_of_labels(double expected, const M& metric) {
  expect_metric(expected, metric, kItems, [](M& m, std::int64_t begin, std::int64_t end) {
    m.update(rows<2>(data().scores, {kItems, kClasses}, begin, end),
             int_rows<2>(data().labels, {kItems, kClasses}, begin, end).to_bool());
  });
}
template <class M>
void expect_of_yes(double expected, const M& metric) {
  expect_metric(expected, metric, kItems, [](M& m, std::int64_t begin, std::int64_t end) {
    m.update(rows<1>(data().coarse, {kItems}, begin, end), int_rows<1>(data().yes, {kItems}, begin, end));
  });
}

TEST(Classification, SharesAreScikitLearns) {
  expect_of_classes(value_of("Accuracy"), metric::Accuracy{});
  expect_of_labels(value_of("ExactMatch"), metric::Accuracy{});
  expect_of_classes(value_of("TopKAccuracy"), metric::TopKAccuracy{.k = 2});
  expect_of_labels(value_of("HammingScore"), metric::HammingScore{});
}

TEST(Classification, RatiosAreScikitLearns) {
  expect_of_classes(value_of("MacroPrecision"), metric::Precision{});
  expect_of_classes(value_of("MicroPrecision"), metric::Precision{.average = Average::Micro});
  expect_of_classes(value_of("WeightedPrecision"), metric::Precision{.average = Average::Weighted});
  expect_of_classes(value_of("MacroRecall"), metric::Recall{});
  expect_of_classes(value_of("MicroRecall"), metric::Recall{.average = Average::Micro});
  expect_of_classes(value_of("WeightedRecall"), metric::Recall{.average = Average::Weighted});
  expect_of_classes(value_of("MacroFBeta"), metric::FBeta{.ratio = {.beta = 2}});
  expect_of_classes(value_of("MicroFBeta"), metric::FBeta{.average = Average::Micro, .ratio = {.beta = 2}});
  expect_of_classes(value_of("WeightedFBeta"), metric::FBeta{.average = Average::Weighted, .ratio = {.beta = 2}});
  expect_of_classes(value_of("MacroIou"), metric::Iou{});
  expect_of_classes(value_of("MicroIou"), metric::Iou{.average = Average::Micro});
  expect_of_classes(value_of("WeightedIou"), metric::Iou{.average = Average::Weighted});
  expect_of_labels(value_of("MacroDice"), metric::Dice{});
  expect_of_labels(value_of("MicroDice"), metric::Dice{.average = Average::Micro});
  expect_of_labels(value_of("WeightedDice"), metric::Dice{.average = Average::Weighted});
  expect_of_yes(value_of("BinaryPrecision"), metric::Precision{});
  expect_of_yes(value_of("BinaryRecall"), metric::Recall{});
  expect_of_yes(value_of("BinarySpecificity"), metric::Specificity{});
  expect_of_yes(value_of("BinaryFBeta"), metric::FBeta{.ratio = {.beta = 2}});
}

TEST(Classification, TheLargestScoresAreAYesEach) {
  const metric::LabelOptions two{.top = 2};
  expect_of_classes(value_of("MacroPrecisionOfTwo"), metric::Precision{.options = two});
  expect_of_classes(value_of("MicroPrecisionOfTwo"), metric::Precision{.average = Average::Micro, .options = two});
  expect_of_classes(value_of("WeightedPrecisionOfTwo"),
                    metric::Precision{.average = Average::Weighted, .options = two});
  expect_of_classes(value_of("TopKAccuracy"), metric::Recall{.average = Average::Micro, .options = two});
  expect_of_labels(value_of("MacroRecallOfTwo"), metric::Recall{.options = two});
  expect_of_labels(value_of("MicroRecallOfTwo"), metric::Recall{.average = Average::Micro, .options = two});
  expect_of_labels(value_of("WeightedRecallOfTwo"), metric::Recall{.average = Average::Weighted, .options = two});

  // Of pixels: three classes of two pixels, of which the second does not count.
  const auto scores = Tensor<3>::of(std::vector<double>{3, 1, 2, 2, 1, 3}, {1, 3, 2}, Device::cpu());
  const auto targets = Tensor<2, Int>::of(std::vector<std::int64_t>{1, -100}, {1, 2}, Device::cpu());
  metric::Precision precision{.options = {.ignore = -100, .top = 2}};
  precision.update(scores, targets);
  EXPECT_DOUBLE_EQ(precision.of(0), 0);
  EXPECT_DOUBLE_EQ(precision.of(1), 1);
  EXPECT_EQ(precision.counts.predicted.total(), 2);

  const auto told = [&](auto metric) { return sentence_of([&] { return metric.update(scores, targets), 0; }); };
  EXPECT_EQ(told(metric::Recall{.options = {.top = 4}}), "ArgumentError: recall: top = 4 of 3 classes");
  const std::string needs = ": the 2 largest scores are several classes of an item, and it needs one";
  EXPECT_EQ(told(metric::ConfusionMatrix{.classes = 3, .options = two}), "ArgumentError: confusion matrix" + needs);
  EXPECT_EQ(told(metric::CohenKappa{.options = two}), "ArgumentError: cohen_kappa" + needs);
  EXPECT_EQ(told(metric::Accuracy{.options = two}), "ArgumentError: accuracy" + needs);
  metric::Recall yes{.options = two};
  EXPECT_EQ(sentence_of([&] {
              yes.update(Tensor<1>::of({0.5f}, Device::cpu()), Tensor<1, Int>::of({1}, Device::cpu()));
              return 0;
            }),
            "ArgumentError: recall: yes or no has no 2 largest scores");
}

TEST(Classification, AgreementIsScikitLearns) {
  expect_of_classes(value_of("CohenKappa"), metric::CohenKappa{});
  expect_of_classes(value_of("MatthewsCorrelation"), metric::MatthewsCorrelation{});
  metric::ConfusionMatrix matrix{.classes = kClasses};
  expect_of_classes(value_of("Accuracy"), matrix);
  matrix.update(rows<2>(data().scores, {kItems, kClasses}, 0, kItems),
                int_rows<1>(data().classes, {kItems}, 0, kItems));
  const auto& counts = metric_figures().confusion;
  for (std::int64_t actual = 0; actual < kClasses; ++actual)
    for (std::int64_t said = 0; said < kClasses; ++said)
      EXPECT_EQ(matrix.of(actual, said), counts[static_cast<std::size_t>(actual)][static_cast<std::size_t>(said)])
          << actual << " as " << said;
}

TEST(Classification, AConfusionMatrixHasANameForEachClassOrNone) {
  const auto scores = Tensor<2>::of({{1, 0}, {0, 1}, {3, 2}}, Device::cpu());
  const auto targets = Tensor<1, Int>::of({0, 1, 1}, Device::cpu());
  metric::ConfusionMatrix matrix{.classes = 2, .names = {"cat", "dog"}};
  matrix.update(scores, targets);
  EXPECT_EQ(matrix.table(),
            "actual     cat     dog\n"
            "   cat       1       0\n"
            "   dog       1       1\n");
  const std::vector<std::string> others = {"yes", "no"}, one = {"yes"};
  EXPECT_EQ(matrix.table(others).substr(0, 23), "actual     yes      no\n");
  EXPECT_EQ(sentence_of([&] { return matrix.table(one); }),
            "ArgumentError: confusion matrix: 1 names for classes = 2: give one for each class, or none");
  metric::ConfusionMatrix wrong{.classes = 2, .names = {"cat", "dog", "owl"}};
  EXPECT_EQ(sentence_of([&] { return wrong.update(scores, targets), 0; }),
            "ArgumentError: confusion matrix: 3 names for classes = 2: give one for each class, or none");
}

TEST(Classification, RankingsAreScikitLearns) {
  expect_of_yes(value_of("BinaryAuroc"), metric::Auroc{});
  expect_of_labels(value_of("WeightedAuroc"), metric::Auroc{.average = Average::Weighted});
  expect_of_labels(value_of("MicroAuroc"), metric::Auroc{.average = Average::Micro});
  expect_of_yes(value_of("BinaryAveragePrecision"), metric::AveragePrecision{});
  expect_of_classes(value_of("MacroAveragePrecision"), metric::AveragePrecision{});
  expect_of_labels(value_of("WeightedAveragePrecision"), metric::AveragePrecision{.average = Average::Weighted});
  expect_of_labels(value_of("MicroAveragePrecision"), metric::AveragePrecision{.average = Average::Micro});
  const auto of_chances = [](auto& m, std::int64_t begin, std::int64_t end) {
    m.update(rows<2>(data().chances, {kItems, kClasses}, begin, end),
             int_rows<1>(data().classes, {kItems}, begin, end));
  };
  expect_metric(value_of("MacroAuroc"), metric::Auroc{}, kItems, of_chances);
  expect_metric(value_of("CalibrationError"), metric::CalibrationError{}, kItems, of_chances);
}

TEST(Classification, PixelsAreItemsAndPaddingIsLeftOut) {
  const Device cpu = Device::cpu();
  // Two classes of four pixels: predicted 0 1 1 1, right 0 1 0 and one that does not count.
  const auto scores = Tensor<4>::of(std::vector<double>{1, 0, 0, 0, 0, 1, 1, 1}, {1, 2, 2, 2}, cpu);
  const auto targets = Tensor<3, Int>::of(std::vector<std::int64_t>{0, 1, 0, -100}, {1, 2, 2}, cpu);
  metric::Iou iou{.options = {.ignore = -100}};
  iou.update(scores, targets);
  EXPECT_DOUBLE_EQ(iou.of(0), 1.0 / 2);
  EXPECT_DOUBLE_EQ(iou.of(1), 1.0 / 2);
  metric::Accuracy accuracy{.options = {.ignore = -100}};
  accuracy.update(scores, targets);
  EXPECT_DOUBLE_EQ(accuracy.value(), 2.0 / 3);
  metric::ConfusionMatrix matrix{.classes = 2, .options = {.ignore = -100}};
  matrix.update(scores, targets);
  EXPECT_EQ(matrix.table(), "actual       0       1\n     0       1       1\n     1       0       1\n");
}

TEST(Classification, WrongDataGetSentences) {
  const Device cpu = Device::cpu();
  const auto scores = Tensor<2>::of({{0.1, 0.9}, {0.8, 0.2}}, cpu);
  const auto targets = [&](std::initializer_list<std::int64_t> labels) {
    return Tensor<1, Int>::of(std::vector<std::int64_t>(labels), {static_cast<std::int64_t>(labels.size())}, cpu);
  };
  metric::Accuracy accuracy;
  EXPECT_EQ(sentence_of([&] { return accuracy.value(); }), "ArgumentError: accuracy: nothing was measured");
  EXPECT_EQ(sentence_of([&] {
              accuracy.update(scores, targets({0, 2}));
              return 0;
            }),
            "DataError: accuracy: target 2 of 2 classes does not exist");
  EXPECT_EQ(sentence_of([&] {
              accuracy.update(scores, targets({0, 1, 1}));
              return 0;
            }),
            "ShapeError: accuracy: scores [2, 2] and targets [3] do not fit: either [batch, classes, ...] and "
            "[batch, ...], or the same");
  EXPECT_EQ(accuracy.count, 0);  // and nothing was counted

  metric::TopKAccuracy five;
  EXPECT_EQ(sentence_of([&] {
              five.update(scores, targets({0, 1}));
              return 0;
            }),
            "ArgumentError: top-k accuracy: k = 5 of 2 classes");
  EXPECT_EQ(sentence_of([&] { return metric::Recall{}.value(); }), "ArgumentError: recall: nothing was measured");
  EXPECT_EQ(sentence_of([&] { return metric::CohenKappa{}.value(); }),
            "ArgumentError: cohen_kappa: nothing was measured");

  metric::Auroc auroc;
  EXPECT_EQ(sentence_of([&] { return auroc.value(); }), "ArgumentError: auroc: nothing was measured");
  auroc.update(Tensor<1>::of({0.5f, 0.25f}, cpu), targets({1, 1}));
  EXPECT_EQ(sentence_of([&] { return auroc.value(); }),
            "ArgumentError: auroc: a class has 2 items, and 0 are of others; there must be both");
  EXPECT_EQ(sentence_of([&] {
              auroc.update(scores, targets({0, 1}));
              return 0;
            }),
            "ShapeError: auroc: scores of 2 classes after scores of 1");
  EXPECT_EQ(sentence_of([&] {
              auroc.update(Tensor<1>::of({0.0f / 0.0f}, cpu), targets({1}));
              return 0;
            }),
            "DataError: auroc: a score is not a number");
  metric::CalibrationError calibration;
  EXPECT_EQ(sentence_of([&] {
              calibration.update(scores * 3, targets({0, 1}));
              return 0;
            }),
            "DataError: calibration error: 2.69999981 is no probability");
}

}  // namespace
}  // namespace kiln
