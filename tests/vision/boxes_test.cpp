// Boxes, their suppression and the parts that they cut out, beside OpenCV's and loops over doubles.
#include "kiln/vision/boxes.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "kiln/vision/nms.hpp"
#include "kiln/vision/roi.hpp"
#include "tests/vision/figures.hpp"

namespace kiln::vision {
namespace {

using Ints = std::vector<std::int64_t>;

Value boxes_of(std::initializer_list<float> numbers) {
  return from_data(TensorData::of<float>({static_cast<std::int64_t>(numbers.size()) / 4, 4}, numbers), test::cpu);
}
Ints ints(const Value& x) { return x.data().to_vector<std::int64_t>(); }

TEST(Boxes, AreWrittenInThreeWays) {
  const Value corners = boxes_of({1, 2, 4, 8});
  const auto as = [&](BoxFormat to) {
    return convert_boxes(corners, BoxFormat::Corners, to).data().to_vector<float>();
  };
  EXPECT_EQ(as(BoxFormat::CornerSize), (std::vector<float>{1, 2, 3, 6}));
  EXPECT_EQ(as(BoxFormat::CentreSize), (std::vector<float>{2.5f, 5, 3, 6}));
  const Value x = from_data(numbers_of({2, 3, 4}), test::cpu);
  for (int from = 0; from < 3; ++from)
    for (int to = 0; to < 3; ++to) {
      const auto [a, b] = std::pair(static_cast<BoxFormat>(from), static_cast<BoxFormat>(to));
      EXPECT_EQ(difference(convert_boxes(convert_boxes(x, a, b), b, a).data(), x.data()), "") << from << " " << to;
    }
}

TEST(Boxes, HaveAreasAndEnds) {
  const Value x = boxes_of({1, 2, 4, 8, 4, 8, 1, 2, -3, -1, 20, 5});
  EXPECT_EQ(box_area(x).data().to_vector<float>(), (std::vector<float>{18, 0, 138}));
  EXPECT_EQ(clip_boxes(x, 6, 10).data().to_vector<float>(), (std::vector<float>{1, 2, 4, 6, 4, 6, 1, 2, 0, 0, 10, 5}));
  EXPECT_EQ(are_boxes_large(x, 3).data().to_vector<bool>(), (std::vector<bool>{true, false, true}));
}

TEST(Boxes, LieAroundMasks) {
  TensorData masks({3, 4, 5}, DType::U8);
  for (const std::size_t i : {7u, 13u, 20u + 19u}) masks.as<std::uint8_t>()[i] = 9;
  EXPECT_EQ(boxes_of_masks(from_data(masks, test::cpu)).data().to_vector<float>(),
            (std::vector<float>{2, 1, 4, 3, 4, 3, 5, 4, 0, 0, 0, 0}));
  EXPECT_EQ(boxes_of_masks(zeros({2, 0, 3}, test::cpu)).data().to_vector<float>(), std::vector<float>(8));
}

TEST(Boxes, OfAnchorsStandOnCells) {
  const Value x = anchors({.sizes = {4, 8}, .proportions = {1, 4}}, 2, 3, 10, 20, test::cpu);
  EXPECT_EQ(x.shape(), (Shape{24, 4}));
  const std::vector<float> numbers = x.data().to_vector<float>();
  const auto box = [&](std::ptrdiff_t i) {
    return std::vector<float>(numbers.begin() + 4 * i, numbers.begin() + 4 * i + 4);
  };
  EXPECT_EQ(box(0), (std::vector<float>{8, 3, 12, 7}));  // the first cell's middle is (10, 5)
  EXPECT_EQ(box(1), (std::vector<float>{6, 1, 14, 9}));
  EXPECT_EQ(box(2), (std::vector<float>{9, 1, 11, 9}));     // four times as high as wide
  EXPECT_EQ(box(4), (std::vector<float>{28, 3, 32, 7}));    // the next column
  EXPECT_EQ(box(12), (std::vector<float>{8, 13, 12, 17}));  // the next row
}

TEST(Boxes, AreCodedAsDifferences) {
  const Value anchors = boxes_of({0, 0, 10, 20, 5, 5, 9, 6}), boxes = boxes_of({1, 2, 6, 32, 4, 4, 12, 9});
  const BoxCoding coding{.x = 10, .y = 10, .width = 5, .height = 5};
  const Value codes = encode_boxes(boxes, anchors, coding);
  EXPECT_NEAR(codes.data().at(0), 10 * (3.5 - 5) / 10, 1e-6);
  EXPECT_NEAR(codes.data().at(3), 5 * std::log(30.0 / 20), 1e-6);
  EXPECT_EQ(difference(decode_boxes(codes, anchors, coding).data(), boxes.data(), {1e-6, 1e-5}), "");
  // Sides do not grow without end.
  EXPECT_NEAR(decode_boxes(boxes_of({0, 0, 1000, 0}), boxes_of({0, 0, 1, 1})).data().at(2), 0.5 + 62.5 / 2, 1e-4);
}

TEST(Boxes, HaveGradients) {
  const TensorData boxes = numbers_of({2, 3, 4});
  const auto with_size = [](const Value& v) { return convert_boxes(v, BoxFormat::CentreSize, BoxFormat::Corners); };
  const Value others = with_size(from_data(numbers_of({2, 3, 4}, 0.3, 1.1), test::cpu));
  expect_gradients(boxes, with_size);
  expect_gradients(boxes, [&](const Value& v) { return encode_boxes(with_size(v), others); });
  expect_gradients(boxes, [&](const Value& v) { return decode_boxes(v, others); });
  expect_gradients(boxes, [&](const Value& v) { return box_area(with_size(v)); });
}

// ---- suppression ---------------------------------------------------------------------------------------------------

Value stored_boxes() { return convert_boxes(stored_value("nms.boxes"), BoxFormat::CornerSize, BoxFormat::Corners); }

TEST(Nms, KeepsWhatOpenCvKeeps) {
  const NmsOptions options{.overlap = 0.35, .least_score = 0.1};
  expect_same(nms(stored_boxes(), stored_value("nms.scores"), options), "nms.kept");
  expect_same(nms(stored_boxes(), stored_value("nms.scores"), stored_value("nms.kinds"), options), "nms.kept_by_kind");
  NmsOptions few = options;
  few.most = 5;
  const Ints all = stored("nms.kept").to_vector<std::int64_t>();
  EXPECT_EQ(ints(nms(stored_boxes(), stored_value("nms.scores"), few)), Ints(all.begin(), all.begin() + 5));
}

TEST(Nms, LetsScoresFallAsOpenCvDoes) {
  for (int i = 0; i < 2; ++i) {
    const SoftNms options{.decay = static_cast<SoftNms::Decay>(i), .overlap = 0.3, .sigma = 0.5, .least_score = 0.21};
    const Scored found = soft_nms(stored_boxes(), stored_value("nms.scores"), options);
    expect_same(found.indices, text("nms.soft.", i));
    expect_near(found.scores, text("nms.soft.", i, ".scores"), 1e-6);
    const Scored by_ops = soft_kept_by_ops(stored_boxes(), stored_value("nms.scores"), options);
    const std::int64_t kept = found.indices.dim(0);
    EXPECT_EQ(difference(narrow(by_ops.indices, 0, 0, kept).data(), found.indices.data()), "");
    EXPECT_EQ(difference(narrow(by_ops.scores, 0, 0, kept).data(), found.scores.data()), "");
    EXPECT_EQ(narrow(by_ops.indices, 0, kept, 1).item(), -1);
  }
}

TEST(Nms, IsTheSameWhereThereIsNoKernel) {
  // More boxes than a block of the composition has.
  const std::int64_t count = 1500;
  const Value numbers = from_data(numbers_of({count, 4}, 0, 1).to(DType::F32), test::cpu);
  const Value boxes = convert_boxes(numbers * 0.3, BoxFormat::CornerSize, BoxFormat::Corners);
  const Value scores = neg(arange(0, count, 1, test::cpu, DType::F32)),
              groups = remainder(arange(0, count, 1, test::cpu), 3);
  for (const Value& kinds : {Value(), groups}) {
    const Value kept = kinds ? nms(boxes, scores, kinds) : nms(boxes, scores);
    EXPECT_EQ(ints(kept), ints(mask_select(arange(0, count, 1, test::cpu), kept_by_ops(boxes, kinds, 0.5))));
    EXPECT_GT(kept.dim(0), 20);
    EXPECT_LT(kept.dim(0), count / 2);
  }
}

TEST(Nms, TakesBoxesThatAreNone) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
  // Whole, upside down, empty, NaN, without end, whole again.
  const Value boxes =
      boxes_of({0, 0, 4, 4, 4, 4, 0, 0, 2, 2, 2, 2, kNan, 0, 4, 4, -kInfinity, 0, kInfinity, 4, 0, 0, 4, 4});
  const Value scores = from_data(TensorData::of<float>({6}, {6, 5, 4, 3, 2, 1}), test::cpu);
  EXPECT_EQ(ints(nms(boxes, scores)), (Ints{0, 1, 2, 3, 4}));
  EXPECT_EQ(kept_by_ops(boxes, {}, 0.5).data().to_vector<int>(), (std::vector{1, 1, 1, 1, 1, 0}));
  EXPECT_EQ(ints(soft_nms(boxes, scores, {.overlap = 0.9, .least_score = 0.5}).indices).size(), 5u);
  // A score that is no number is never chosen; of equal ones the earlier comes first.
  const Value odd = from_data(TensorData::of<float>({6}, {1, 1, kNan, 2, 1, 3}), test::cpu);
  EXPECT_EQ(ints(nms(boxes, odd)), (Ints{5, 3, 1, 4}));
  EXPECT_EQ(ints(nms(boxes, odd, {.least_score = 1})), (Ints{5, 3}));
  EXPECT_EQ(nms(zeros({0, 4}, test::cpu), zeros({0}, test::cpu)).shape(), Shape{0});
  EXPECT_EQ(soft_nms(zeros({0, 4}, test::cpu), zeros({0}, test::cpu)).indices.shape(), Shape{0});
}

TEST(Nms, KeepsSomeOfEachGroup) {
  // Ten boxes of three groups that overlap nothing, the best last.
  const Value place = arange(0, 10, 1, test::cpu, DType::F32) * 5, zero = zeros({10}, test::cpu);
  const Value boxes = stack(Values{place, zero, place + 4, zero + 4}, -1), scores = place;
  const Value groups = from_data(TensorData::of<std::int64_t>({10}, {7, 7, -1, 7, 7, 0, -1, 7, -1, 0}), test::cpu);
  EXPECT_EQ(ints(nms(boxes, scores, groups, {.most_of_group = 2})), (Ints{9, 8, 7, 6, 5, 4}));
  EXPECT_EQ(ints(nms(boxes, scores, groups, {.most = 3, .most_of_group = 1})), (Ints{9, 8, 7}));
  EXPECT_EQ(ints(nms(boxes, scores, groups, {.most_of_group = 0})), Ints{});
  EXPECT_EQ(ints(nms(boxes, scores, {.most_of_group = 2})), (Ints{9, 8}));
  EXPECT_EQ(ints(nms(boxes, scores, groups, {.most_of_group = 90})).size(), 10u);
}

TEST(Nms, TakesAMillionBoxesAtOnce) {
  // A lattice of a thousand times a thousand, each half over its right neighbour: every second one stays.
  const Value place = arange(0, 1'000'000, 1, test::cpu);
  const Value x = cast(remainder(place, 1000), DType::F32) * 2, y = cast(floor_divide(place, 1000), DType::F32) * 8;
  const Value boxes = stack(Values{x, y, x + 4, y + 4}, -1);
  EXPECT_EQ(nms(boxes, zeros({1'000'000}, test::cpu), {.overlap = 0.3}).dim(0), 500'000);
}

TEST(Nms, SaysWhatIsWrong) {
  const Value boxes = zeros({3, 4}, test::cpu), scores = zeros({3}, test::cpu);
  EXPECT_EQ(sentence_of([&] { return nms(boxes, zeros({2}, test::cpu)); }),
            "ShapeError: nms: boxes are [count, 4] and scores [count], got [3, 4] and [2]");
  EXPECT_EQ(sentence_of([&] { return nms(boxes, scores, {.overlap = 1.5}); }),
            "ArgumentError: nms: overlap = 1.5 is not from 0 to 1");
  EXPECT_EQ(sentence_of([&] { return nms(boxes, scores, zeros({2}, test::cpu, DType::I64)); }),
            "ShapeError: nms: groups [2] and scores [3] differ");
  EXPECT_EQ(sentence_of([&] { return nms(boxes, scores, {.most_of_group = -1}); }),
            "ArgumentError: nms: most_of_group = -1 must not be negative");
  EXPECT_EQ(sentence_of([&] { return soft_nms(boxes, scores, {.most = 0}); }),
            "ArgumentError: soft_nms: most = 0 must be positive");
  EXPECT_EQ(
      sentence_of([&] { return convert_boxes(zeros({3}, test::cpu), BoxFormat::Corners, BoxFormat::CornerSize); }),
      "ShapeError: convert_boxes: boxes are [..., 4], got [3]");
  EXPECT_EQ(sentence_of([&] { return anchors({.sizes = {0}}, 1, 1, 1, 1, test::cpu); }),
            "ArgumentError: anchors: the size 0 and the proportion 0.5 must be positive");
}

// ---- parts of feature maps -----------------------------------------------------------------------------------------

/// Fast R-CNN's pooling as a loop over doubles.
std::vector<double> pooled(const TensorData& x, const TensorData& boxes, std::int64_t rows, std::int64_t columns,
                           double scale) {
  const std::int64_t channels = x.shape()[1], height = x.shape()[2], width = x.shape()[3];
  std::vector<double> result;
  for (std::int64_t k = 0; k < boxes.shape()[0]; ++k)
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
          const auto corner = [&](int n) { return std::round(boxes.at(k * 5 + n) * scale); };
          const auto range = [&](double first, double last, std::int64_t part, std::int64_t parts, std::int64_t size) {
            const auto length = static_cast<std::int64_t>(std::max(last - first + 1, 1.0));
            const auto place = [&](std::int64_t at) {
              return std::clamp<std::int64_t>(at + static_cast<std::int64_t>(first), 0, size);
            };
            return std::pair(place(part * length / parts), place(((part + 1) * length + parts - 1) / parts));
          };
          const auto [top, bottom] = range(corner(2), corner(4), i, rows, height);
          const auto [left, right] = range(corner(1), corner(3), j, columns, width);
          double largest = top < bottom && left < right ? -1e300 : 0;
          const auto image = static_cast<std::int64_t>(boxes.at(k * 5));
          for (std::int64_t y = top; y < bottom; ++y)
            for (std::int64_t z = left; z < right; ++z)
              largest = std::max(largest, x.at(((image * channels + c) * height + y) * width + z));
          result.push_back(largest);
        }
  return result;
}

TEST(RoiPool, TakesTheLargest) {
  const TensorData x = numbers_of({2, 3, 9, 11}, -1, 1);
  const TensorData boxes = TensorData::of<double>(
      {6, 5}, {0, 0, 0, 10, 8, 1, 3.4, 1.5, 7, 6.6, 0, 8, 7, 2, 1, 1, -5, -4, 4, 3, 0, 20, 20, 30, 30, 1, 5, 5, 5, 5});
  for (const double scale : {1.0, 0.5}) {
    const Value result =
        roi_pool(from_data(x, test::cpu), from_data(boxes, test::cpu), {.size = {3, 2}, .spatial_scale = scale});
    EXPECT_EQ(result.shape(), (Shape{6, 3, 3, 2}));
    EXPECT_EQ(result.data().to_vector<double>(), pooled(x, boxes, 3, 2, scale)) << scale;
  }
  // Parts of one element each, of which no rounding may lose one, and a box that reaches far out.
  const TensorData wide = numbers_of({1, 1, 1, 49}, -1, 1);
  const TensorData long_boxes = TensorData::of<double>({2, 5}, {0, 0, 0, 48, 0, 0, -1000, 0, 30, 0});
  EXPECT_EQ(roi_pool(from_data(wide, test::cpu), from_data(long_boxes, test::cpu), {.size = {1, 49}})
                .data()
                .to_vector<double>(),
            pooled(wide, long_boxes, 1, 49, 1));
  expect_gradients(numbers_of({1, 1, 4, 5}), [](const Value& v) {
    const Value box = from_data(TensorData::of<double>({1, 5}, {0, 0, 1, 4, 3}), test::cpu);
    return roi_pool(v, box, {.size = {2, 2}});
  });
}

TEST(RoiPool, TakesBoxesThatAreNone) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();
  // Upside down: the element of its first corner. NaN: none. Without end: all.
  const TensorData boxes = TensorData::of<double>(
      {4, 5}, {0, 3, 2, 1, 1, 0, kNan, 0, 3, 3, 0, 0, 0, 3, kNan, 0, -kInfinity, -1, kInfinity, 9});
  const Value x = reshape(arange(1, 17, 1, test::cpu, DType::F64), {1, 1, 4, 4});
  EXPECT_EQ(roi_pool(x, from_data(boxes, test::cpu), {.size = {1, 1}}).data().to_vector<double>(),
            (std::vector<double>{12, 0, 0, 16}));
}

TEST(RoiPool, SaysWhatIsWrong) {
  const Value x = zeros({1, 1, 4, 4}, test::cpu);
  EXPECT_EQ(roi_pool(x, zeros({0, 5}, test::cpu), {.size = {2, 3}}).shape(), (Shape{0, 1, 2, 3}));
  EXPECT_EQ(sentence_of([&] { return roi_pool(x, zeros({2, 4}, test::cpu), {.size = {2, 2}}); }),
            "ShapeError: roi_pool: boxes [2, 4] must be [count, 5] of (image, x1, y1, x2, y2)");
  EXPECT_EQ(sentence_of([&] { return roi_pool(x, zeros({2, 5}, test::cpu), {}); }),
            "ArgumentError: roi_pool: the size [] must have two positive entries");
  EXPECT_NE(sentence_of([&] {
              return roi_pool(x, full({1, 5}, 3, test::cpu), {.size = {1, 1}}).data();
            }).find("IndexError: roi_pool"),
            std::string::npos);
}

}  // namespace
}  // namespace kiln::vision
