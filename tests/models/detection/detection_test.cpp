// Assignment, loss and detections against loops over doubles, and what wrong boxes are told.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <gtest/gtest.h>

#include "kiln/core/random.hpp"
#include "kiln/tensor/create.hpp"
#include "models/detection/detect.hpp"
#include "models/detection/yolox_loss.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::models {
namespace {

using test::autodiff;
using test::cpu;

constexpr YoloxCells kCells{64, 96};
constexpr std::int64_t kClasses = 3;
constexpr std::size_t kWidth = 5 + kClasses;

std::size_t cell_count() { return kCells.list().size(); }

/// Boxes of some five to forty pixels, and logits about -2.
std::vector<float> random_raw(Random& random, std::size_t pictures) {
  std::vector<float> raw;
  for (std::size_t i = 0; i < pictures * cell_count(); ++i)
    for (std::size_t j = 0; j < kWidth; ++j)
      raw.push_back(static_cast<float>(j < 2   ? random.uniform(-0.5, 1.5)
                                       : j < 4 ? random.uniform(-0.5, 1.6)
                                               : random.normal() - 1));
  return raw;
}
std::vector<Box> random_boxes(Random& random, int count) {
  std::vector<Box> boxes;
  for (; count > 0; --count)
    boxes.push_back({random.uniform(-20, 90), random.uniform(-20, 60), random.uniform(4, 50), random.uniform(4, 50),
                     static_cast<std::int64_t>(random.uniform(0, kClasses))});
  return boxes;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// What a row of the output says, as a box.
Box said_by(const float* row, const YoloxCells::Cell& cell) {
  const double width = std::exp(double{row[2]}) * cell.stride, height = std::exp(double{row[3]}) * cell.stride;
  return {(cell.column + row[0]) * cell.stride - width / 2, (cell.row + row[1]) * cell.stride - height / 2, width,
          height};
}
double overlap(const Box& a, const Box& b) {
  const auto along = [](double a1, double a_size, double b1, double b_size) {
    return std::max(0.0, std::min(a1 + a_size, b1 + b_size) - std::max(a1, b1));
  };
  const double both = along(a.left, a.width, b.left, b.width) * along(a.top, a.height, b.top, b.height);
  return both / (a.width * a.height + b.width * b.height - both);
}

// ---- assignment ------------------------------------------------------------------------------------------------------

/// The cost of each cell for each box as the paper has it, and the least ones, by sorting.
std::map<std::int64_t, std::size_t> assigned_by_sorting(const std::vector<float>& raw, const std::vector<Box>& boxes) {
  const std::vector<YoloxCells::Cell> cells = kCells.list();
  const auto is_near = [&](std::size_t i, const Box& box) {
    const double stride = cells[i].stride, x = stride * (cells[i].column + 0.5), y = stride * (cells[i].row + 0.5);
    const double middle_x = box.left + box.width / 2, middle_y = box.top + box.height / 2;
    return std::max(std::abs(x - middle_x), std::abs(y - middle_y)) < 1.5 * stride;
  };
  const auto cost = [&](std::size_t i, const Box& box) {
    double sum = is_near(i, box) ? 0 : 1e6;
    for (std::size_t k = 0; k < kClasses; ++k) {
      const double p = std::sqrt(sigmoid(raw[i * kWidth + 5 + k]) * sigmoid(raw[i * kWidth + 4]));
      sum -= std::log(static_cast<std::int64_t>(k) == box.label ? p : 1 - p);
    }
    return sum - 3 * std::log(overlap(said_by(&raw[i * kWidth], cells[i]), box) + 1e-8);
  };
  std::vector<std::size_t> near;
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (std::ranges::any_of(boxes, [&](const Box& box) { return is_near(i, box); })) near.push_back(i);
  std::map<std::int64_t, std::vector<std::size_t>> chosen;
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    std::vector<double> shared;
    for (const std::size_t i : near) shared.push_back(overlap(said_by(&raw[i * kWidth], cells[i]), boxes[b]));
    std::ranges::sort(shared, std::greater());
    shared.resize(std::min<std::size_t>(shared.size(), 10));
    const auto count =
        std::max<std::size_t>(1, static_cast<std::size_t>(std::accumulate(shared.begin(), shared.end(), 0.0)));
    std::vector<std::size_t> order = near;
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return cost(i, boxes[b]); });
    for (std::size_t i = 0; i < std::min(count, order.size()); ++i)
      chosen[static_cast<std::int64_t>(order[i])].push_back(b);
  }
  std::map<std::int64_t, std::size_t> result;
  for (const auto& [cell, by] : chosen) {
    std::vector<std::size_t> all(boxes.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const auto& among = by.size() > 1 ? all : by;
    result[cell] = *std::ranges::min_element(
        among, {}, [&](std::size_t b) { return cost(static_cast<std::size_t>(cell), boxes[b]); });
  }
  return result;
}

TEST(SimOta, ChoosesTheCellsThatCostLeast) {
  std::size_t assigned = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random{Key{seed}};
    const std::vector<float> raw = random_raw(random, 1);
    const std::vector<Box> boxes = random_boxes(random, static_cast<int>(seed % 7));
    const auto right = assigned_by_sorting(raw, boxes);
    std::map<std::int64_t, std::size_t> found;
    for (const Assigned& a : SimOta{}.assign(kCells.list(), raw, kClasses, boxes)) {
      found[a.cell] = a.box;
      const auto cell = static_cast<std::size_t>(a.cell);
      EXPECT_NEAR(a.overlap, overlap(said_by(&raw[cell * kWidth], kCells.list()[cell]), boxes[a.box]), 1e-9);
    }
    EXPECT_EQ(found, right) << "seed " << seed;
    assigned += found.size();
  }
  EXPECT_GT(assigned, 150U);
}

TEST(SimOta, AssignsNothingToABoxFarOutside) {
  Random random{Key{1}};
  const std::vector<float> raw = random_raw(random, 1);
  const std::vector<Box> far = {{-300, 10, 20, 20, 0}};
  EXPECT_TRUE(SimOta{}.assign(kCells.list(), raw, kClasses, far).empty());
  EXPECT_TRUE(SimOta{}.assign(kCells.list(), raw, kClasses, {}).empty());
}

TEST(SimOta, EndsWherePredictionsAreNoNumbers) {
  std::vector<float> raw(cell_count() * kWidth, std::nanf(""));
  const std::vector<Box> boxes = {{10, 10, 20, 20, 1}};
  EXPECT_EQ(SimOta{}.assign(kCells.list(), raw, kClasses, boxes).size(), 1);
  std::ranges::fill(raw, std::numeric_limits<float>::infinity());
  EXPECT_EQ(SimOta{}.assign(kCells.list(), raw, kClasses, boxes).size(), 1);
}

// ---- the loss --------------------------------------------------------------------------------------------------------

const std::vector<std::vector<Box>> kTruth = {{{8, 10, 32, 28, 0}, {50, 20, 40, 40, 2}}, {}, {{-8, 30, 20, 24, 1}}};

struct Goal {
  std::size_t row;
  Box box;
  double overlap;
};
std::vector<Goal> goals_of(const std::vector<float>& raw) {
  std::vector<Goal> goals;
  for (std::size_t i = 0; i < kTruth.size(); ++i) {
    const auto begin = raw.begin() + static_cast<std::ptrdiff_t>(i * cell_count() * kWidth);
    const std::vector<float> of_picture(begin, begin + static_cast<std::ptrdiff_t>(cell_count() * kWidth));
    for (const auto& [cell, box] : assigned_by_sorting(of_picture, kTruth[i])) {
      const auto at = static_cast<std::size_t>(cell);
      const Box& goal = kTruth[i][box];
      goals.push_back(
          {i * cell_count() + at, goal, overlap(said_by(&of_picture[at * kWidth], kCells.list()[at]), goal)});
    }
  }
  return goals;
}

double cross_entropy_of(double logit, double target) {
  return std::max(logit, 0.0) - logit * target + std::log1p(std::exp(-std::abs(logit)));
}

/// The loss of rows whose goals stay as they are, all in doubles.
double loss_of(const std::vector<double>& raw, const std::vector<Goal>& goals, double distance_weight) {
  std::vector<double> there(raw.size() / kWidth);
  double boxes = 0, classes = 0, objects = 0, distances = 0;
  for (const auto& [row, box, shared] : goals) {
    there[row] = 1;
    const YoloxCells::Cell cell = kCells.list()[row % cell_count()];
    const double* const said = &raw[row * kWidth];
    const double stride = cell.stride, width = std::exp(said[2]) * stride, height = std::exp(said[3]) * stride;
    const Box found{(cell.column + said[0]) * stride - width / 2, (cell.row + said[1]) * stride - height / 2, width,
                    height};
    boxes += 1 - std::pow(overlap(found, box), 2);
    for (std::size_t k = 0; k < kClasses; ++k)
      classes += cross_entropy_of(said[5 + k], static_cast<std::int64_t>(k) == box.label ? shared : 0);
    const double wanted[] = {(box.left + box.width / 2) / stride - cell.column,
                             (box.top + box.height / 2) / stride - cell.row, std::log(box.width / stride),
                             std::log(box.height / stride)};
    for (std::size_t k = 0; k < 4; ++k) distances += std::abs(said[k] - wanted[k]);
  }
  for (std::size_t row = 0; row < there.size(); ++row) objects += cross_entropy_of(raw[row * kWidth + 4], there[row]);
  return (5 * boxes + objects + classes + distance_weight * distances) / static_cast<double>(goals.size());
}

TEST(YoloxLoss, IsThatOfALoopAndSoIsItsGradient) {
  for (const double distance_weight : {0.0, 1.5}) {
    Random random{Key{4}};
    const std::vector<float> raw = random_raw(random, kTruth.size());
    const std::vector<Goal> goals = goals_of(raw);
    ASSERT_GT(goals.size(), 3U);
    const Shape shape{std::ssize(kTruth), static_cast<std::int64_t>(cell_count()), std::int64_t{kWidth}};
    const auto leaf = Tensor<3>::from_data(TensorData::of<float>(shape, raw), autodiff).require_grad();
    const YoloxLosses losses = YoloxLoss{.distance_weight = distance_weight}.forward({leaf, kCells}, kTruth);
    std::vector<double> wide(raw.begin(), raw.end());
    EXPECT_NEAR(losses.loss.item(), loss_of(wide, goals, distance_weight), 1e-4);
    EXPECT_EQ(losses.assigned, std::ssize(goals));
    const std::vector<double> slope = losses.loss.backward().of(leaf).to_vector<double>();
    std::vector<std::size_t> rows = {0, 40, cell_count() + 3};
    for (const Goal& goal : goals) rows.push_back(goal.row);
    for (const std::size_t row : rows)
      for (std::size_t i = row * kWidth; i < (row + 1) * kWidth; ++i) {
        constexpr double kStep = 1e-5;
        const double before = std::exchange(wide[i], wide[i] + kStep), above = loss_of(wide, goals, distance_weight);
        wide[i] = before - kStep;
        const double below = loss_of(wide, goals, distance_weight);
        wide[i] = before;
        EXPECT_NEAR(slope[i], (above - below) / (2 * kStep), 2e-5) << "row " << row << ", column " << i % kWidth;
      }
  }
}

TEST(YoloxLoss, OfPicturesWithoutBoxesLearnsThatThereIsNone) {
  Random random{Key{5}};
  const std::vector<float> raw = random_raw(random, 2);
  const Shape shape{2, static_cast<std::int64_t>(cell_count()), std::int64_t{kWidth}};
  const YoloxOutput output{Tensor<3>::from_data(TensorData::of<float>(shape, raw), cpu), kCells};
  const YoloxLosses losses = YoloxLoss{}.forward(output, std::vector<std::vector<Box>>(2));
  double right = 0;
  for (std::size_t i = 4; i < raw.size(); i += kWidth) right += cross_entropy_of(raw[i], 0);
  EXPECT_NEAR(losses.loss.item(), right, 1e-3);
  EXPECT_EQ(losses.boxes.item(), 0);
  EXPECT_EQ(losses.classes.item(), 0);
  EXPECT_EQ(losses.assigned, 1);
}

TEST(YoloxLoss, SaysWhichBoxIsWrong) {
  const YoloxOutput output{zeros({1, static_cast<std::int64_t>(cell_count()), std::int64_t{kWidth}}, cpu), kCells};
  const auto said = [&](const Box& box) {
    return sentence_of([&] { return YoloxLoss{}.forward(output, std::vector<std::vector<Box>>{{box}}); });
  };
  EXPECT_EQ(said({1, 2, 3, 4, 3}), "DataError: YoloxLoss: a box of picture 0 has the label 3, the model has 3 classes");
  EXPECT_EQ(said({1, 2, 3, 4, -1}),
            "DataError: YoloxLoss: a box of picture 0 has the label -1, the model has 3 classes");
  EXPECT_EQ(said({1, 2, 0, 4, 0}),
            "DataError: YoloxLoss: a box of picture 0 at 1, 2 is 0 x 4; boxes must have an area");
  EXPECT_EQ(said({1, 2, std::nan(""), 4, 0}),
            "DataError: YoloxLoss: a box of picture 0 at 1, 2 is nan x 4; boxes must have an area");
  EXPECT_EQ(sentence_of([&] { return YoloxLoss{}.forward(output, {}); }),
            "ShapeError: YoloxLoss: boxes of 0 pictures for 1 images");
}

// ---- detections ------------------------------------------------------------------------------------------------------

struct Found {
  double score;
  Box box;
};
/// The best class of each cell of one picture, the best cell first, without those that overlap a better one.
std::vector<Found> found_by_a_loop(const float* raw, const DetectOptions& options) {
  const std::vector<YoloxCells::Cell> cells = kCells.list();
  std::vector<Found> all, kept;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const float* const row = raw + i * kWidth;
    Found one{0, said_by(row, cells[i])};
    one.box.label = std::max_element(row + 5, row + kWidth) - (row + 5);
    one.score = sigmoid(row[4]) * sigmoid(row[5 + one.box.label]);
    if (one.score > options.least_score) all.push_back(one);
  }
  std::ranges::sort(all, std::greater(), &Found::score);
  for (const Found& one : all)
    if (std::ssize(kept) < options.most && std::ranges::none_of(kept, [&](const Found& other) {
          return other.box.label == one.box.label && overlap(other.box, one.box) > options.overlap;
        }))
      kept.push_back(one);
  return kept;
}

TEST(Detections, AreTheBestOfThoseThatOverlap) {
  Random random{Key{6}};
  const std::vector<float> raw = random_raw(random, 3);
  const Shape shape{3, static_cast<std::int64_t>(cell_count()), std::int64_t{kWidth}};
  const YoloxOutput output{Tensor<3>::from_data(TensorData::of<float>(shape, raw), cpu), kCells};
  for (const DetectOptions& options : {DetectOptions{.least_score = 0.05, .overlap = 0.3},
                                       {.least_score = 0.1, .overlap = 0.6, .most = 5},
                                       {.least_score = 0.999}}) {
    const std::vector<Detections> found = detections(output, options);
    ASSERT_EQ(found.size(), 3);
    for (std::size_t i = 0; i < 3; ++i) {
      const std::vector<Found> right = found_by_a_loop(&raw[i * cell_count() * kWidth], options);
      ASSERT_EQ(found[i].scores.dim(0), std::ssize(right));
      EXPECT_EQ(right.empty(), options.least_score > 0.9);
      const auto boxes = found[i].boxes.to_vector<double>(), scores = found[i].scores.to_vector<double>();
      const auto labels = found[i].labels.to_vector<std::int64_t>();
      for (std::size_t j = 0; j < right.size(); ++j) {
        EXPECT_NEAR(scores[j], right[j].score, 1e-6);
        EXPECT_EQ(labels[j], right[j].box.label);
        EXPECT_NEAR(boxes[4 * j], right[j].box.left, 1e-3);
        EXPECT_NEAR(boxes[4 * j + 3], right[j].box.top + right[j].box.height, 1e-3);
      }
    }
  }
}

}  // namespace
}  // namespace kiln::models
