// Boxes that are kept, and maxima of parts of pictures, beside loops that follow the standard's text.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "kiln/onnx/apply.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::onnx::test {
namespace {

using kiln::test::cpu;
using Ints = std::vector<std::int64_t>;

/// Numbers from 0 to 1 with few digits, so that some are equal.
std::vector<float> coarse(std::int64_t count, int steps, double seed) {
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < count; ++i)
    numbers.push_back(
        static_cast<float>(std::floor(std::fmod((static_cast<double>(i) + seed) * 0.6180339887, 1.0) * steps)) /
        static_cast<float>(steps));
  return numbers;
}

struct Suppression {
  std::int64_t batch = 2, classes = 3, count = 60, most = 7;
  double overlap = 0.4, least = 0.15;
  bool centred = false;
};

/// Of each picture and class, boxes by falling score; one stays unless it overlaps one that stayed.
Ints kept_by_loops(const Suppression& s, const std::vector<float>& boxes, const std::vector<float>& scores) {
  Ints kept;
  for (std::int64_t picture = 0; picture < s.batch; ++picture)
    for (std::int64_t kind = 0; kind < s.classes; ++kind) {
      const auto side = [&](std::int64_t i, int axis) {  // the ends of box i along an axis: 0 is y
        const float* box = &boxes[static_cast<std::size_t>((picture * s.count + i) * 4)];
        const double a = s.centred ? box[1 - axis] - box[3 - axis] / 2.0 : box[axis];
        const double b = s.centred ? box[1 - axis] + box[3 - axis] / 2.0 : box[axis + 2];
        return s.centred ? std::pair(a, b) : std::pair(std::min(a, b), std::max(a, b));
      };
      const auto overlap = [&](std::int64_t i, std::int64_t j) {
        double shared = 1, one = 1, other = 1;
        for (const int axis : {1, 0}) {
          const auto a = side(i, axis), b = side(j, axis);
          shared *= std::max(std::min(a.second, b.second) - std::max(a.first, b.first), 0.0);
          one *= a.second - a.first;
          other *= b.second - b.first;
        }
        return shared > 0 ? shared / (one + other - shared) : 0.0;
      };
      const auto score = [&](std::int64_t i) {
        return static_cast<double>(scores[static_cast<std::size_t>((picture * s.classes + kind) * s.count + i)]);
      };
      Ints order(static_cast<std::size_t>(s.count)), chosen;
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) { return score(a) > score(b); });
      for (const std::int64_t i : order)
        if (score(i) > s.least && std::ssize(chosen) < s.most &&
            std::ranges::none_of(chosen, [&](std::int64_t j) { return overlap(i, j) > s.overlap; }))
          chosen.push_back(i), kept.insert(kept.end(), {picture, kind, i});
    }
  return kept;
}

void expect_kept(const Suppression& s) {
  const std::vector<float> boxes = coarse(s.batch * s.count * 4, 40, 1),
                           scores = coarse(s.batch * s.classes * s.count, 9, 5);
  const auto scalar = [](float number) { return from_data(TensorData::of<float>({1}, {number}), cpu); };
  const auto [overlap, least] = std::pair(static_cast<float>(s.overlap), static_cast<float>(s.least));
  const Value found =
      apply("NonMaxSuppression", 11,
            {from_data(TensorData::of<float>({s.batch, s.count, 4}, boxes), cpu),
             from_data(TensorData::of<float>({s.batch, s.classes, s.count}, scores), cpu),
             from_data(TensorData::of<std::int64_t>({1}, {s.most}), cpu), scalar(overlap), scalar(least)},
            {{"center_point_box", s.centred ? 1 : 0}})
          .datum.value();
  Suppression rounded = s;
  rounded.overlap = overlap;
  rounded.least = least;
  EXPECT_EQ(found.data().to_vector<std::int64_t>(), kept_by_loops(rounded, boxes, scores));
  EXPECT_EQ(found.dim(1), 3);
}

TEST(NonMaxSuppression, KeepsWhatTheStandardSays) {
  for (const bool centred : {false, true}) {
    expect_kept({.centred = centred});
    expect_kept({.count = 200, .most = 1000, .overlap = 0.1, .least = -1, .centred = centred});
    expect_kept({.most = 1000, .overlap = 0, .centred = centred});
    expect_kept({.most = 1000, .overlap = 1, .least = 0.5, .centred = centred});
    expect_kept({.classes = 1, .most = 0, .centred = centred});
  }
}

TEST(NonMaxSuppression, TakesNoBoxes) {
  const auto kept = [](const Shape& boxes, const Shape& scores) {
    return apply("NonMaxSuppression", 11,
                 {zeros(boxes, cpu), ones(scores, cpu), from_data(TensorData::of<std::int64_t>({1}, {5}), cpu)})
        .datum.value()
        .shape();
  };
  EXPECT_EQ(kept({2, 0, 4}, {2, 3, 0}), (Shape{0, 3}));
  EXPECT_EQ(kept({2, 5, 4}, {2, 0, 5}), (Shape{0, 3}));
  EXPECT_EQ(kept({0, 5, 4}, {0, 2, 5}), (Shape{0, 3}));
}

TEST(NonMaxSuppression, SaysWhichOverlapThereIsNot) {
  const Value boxes = zeros({1, 1, 4}, cpu), scores = zeros({1, 1, 1}, cpu);
  EXPECT_NE(sentence_of([&] {
              return apply("NonMaxSuppression", 11, {boxes, scores, ones({1}, cpu, DType::I64), full({1}, 2, cpu)});
            }).find("iou_threshold 2 is not from 0 to 1"),
            std::string::npos);
}

TEST(MaxRoiPool, PassesOverNan) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const Value x = from_data(TensorData::of<float>({1, 1, 2, 3}, {1, kNan, -4, 7, kNan, -2}), cpu);
  const Value boxes = from_data(TensorData::of<float>({1, 5}, {0, 0, 0, 2, 1}), cpu);
  const Value y = apply("MaxRoiPool", 17, {x, boxes}, {{"pooled_shape", Ints{1, 3}}}).datum.value();
  EXPECT_EQ(y.data().to_vector<float>(), (std::vector<float>{7, -std::numeric_limits<float>::infinity(), -2}));
  // A half goes away from 0.
  const Value wide = reshape(arange(0, 6, 1, cpu, DType::F32), {1, 1, 1, 6});
  const Value half = from_data(TensorData::of<float>({2, 5}, {0, -0.5f, 0, 0.5f, 0, 0, 1.5f, 0, 2.5f, 0}), cpu);
  EXPECT_EQ(
      apply("MaxRoiPool", 17, {wide, half}, {{"pooled_shape", Ints{1, 3}}}).datum.value().data().to_vector<float>(),
      (std::vector<float>{0, 0, 1, 2, 3, 3}));
}

}  // namespace
}  // namespace kiln::onnx::test
