// Boxes, masks and keypoints move as the pixels do.
#include "kiln/data/picture/annotated.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kiln/core/error/error.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using vision::Transform2D;

/// A white rectangle in a black picture, with a box, a mask of number 7 and a keypoint in the middle of it.
AnnotatedPicture rectangle(std::int64_t left, std::int64_t top, std::int64_t width, std::int64_t height) {
  AnnotatedPicture item{.picture = blank(40, 60, 3), .masks = {blank(40, 60, 1)}};
  for (std::int64_t y = top; y < top + height; ++y)
    for (std::int64_t x = left; x < left + width; ++x) {
      std::fill_n(item.picture.at(y, x), 3, std::uint8_t{255});
      *item.masks[0].at(y, x) = 7;
    }
  const auto of = [](std::int64_t x) { return static_cast<double>(x); };
  item.boxes = {{of(left), of(top), of(width), of(height), 3}};
  item.keypoints = {{of(left) + of(width) / 2, of(top) + of(height) / 2}};
  return item;
}

/// The box around what is white in the picture, and where its middle lies.
struct Seen {
  double left = 1e9, top = 1e9, right = -1, bottom = -1, x = 0, y = 0;
};
template <class IsIn>
Seen seen(const Picture& picture, IsIn is_in) {
  Seen result;
  double count = 0;
  for (std::int64_t row = 0; row < picture.height; ++row)
    for (std::int64_t column = 0; column < picture.width; ++column) {
      if (!is_in(*picture.at(row, column))) continue;
      const auto x = static_cast<double>(column), y = static_cast<double>(row);
      result = {std::min(result.left, x),       std::min(result.top, y), std::max(result.right, x + 1),
                std::max(result.bottom, y + 1), result.x + x + 0.5,      result.y + y + 0.5};
      ++count;
    }
  result.x /= count;
  result.y /= count;
  return result;
}

/// Box, keypoint and mask are where the pixels are, within `tolerance` pixels.
void expect_together(const AnnotatedPicture& item, double tolerance) {
  const Seen white = seen(item.picture, [](std::uint8_t x) { return x > 127; });
  const Seen marked = seen(item.masks[0], [](std::uint8_t x) { return x == 7; });
  ASSERT_EQ(item.boxes.size(), 1u);
  const Box& box = item.boxes[0];
  EXPECT_EQ(box.label, 3);
  for (const Seen& each : {white, marked}) {
    EXPECT_NEAR(box.left, each.left, tolerance);
    EXPECT_NEAR(box.top, each.top, tolerance);
    EXPECT_NEAR(box.left + box.width, each.right, tolerance);
    EXPECT_NEAR(box.top + box.height, each.bottom, tolerance);
    EXPECT_NEAR(item.keypoints[0].x, each.x, tolerance);
    EXPECT_NEAR(item.keypoints[0].y, each.y, tolerance);
  }
}

TEST(Annotated, MovesTogether) {
  const AnnotatedPicture item = rectangle(20, 12, 14, 8);
  expect_together(item, 0);
  expect_together(mirrored(item), 0);
  expect_together(moved(item, Transform2D::translation(5, -3), 40, 60), 1e-9);
  expect_together(moved(item, Transform2D::rotation(90, {30, 20}), 40, 60), 1e-9);
  expect_together(moved(item, Transform2D::scaling(0.5, 2), 80, 30), 1e-9);
  expect_together(cropped(item, {10, 15, 20, 30}, 60, 45), 1.01);
  EXPECT_EQ(mirrored(item).boxes[0].left, 60 - 34);
}

TEST(Annotated, ChangesAtRandomTogether) {
  const AnnotatedPicture item = rectangle(22, 14, 14, 12);
  bool has_moved = false;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    Random random(Key{seed});
    const AnnotatedPicture turned = random_affine(
        item, {.degrees = 0, .least_scale = 0.8, .most_scale = 1.2, .shift_across = 0.1, .shift_down = 0.1}, random);
    expect_together(turned, 1.01);
    has_moved = has_moved || std::abs(turned.boxes[0].left - 22) > 2;
    const AnnotatedPicture part =
        random_resized_crop(item, {.height = 50, .width = 50, .least_area = 0.8}, random, {.least_visible = 0});
    if (part.boxes.size() == 1 && part.boxes[0].left > 0 && part.boxes[0].left + part.boxes[0].width < 50)
      expect_together(part, 2);
  }
  EXPECT_TRUE(has_moved);
  // A key stands for one change.
  Random first(Key{5}), second(Key{5});
  EXPECT_EQ(random_affine(item, {.degrees = 20}, first).picture, random_affine(item, {.degrees = 20}, second).picture);
}

TEST(Annotated, LosesWhatLeavesThePicture) {
  AnnotatedPicture item = rectangle(0, 0, 10, 10);
  item.boxes.push_back({50, 30, 10, 10, 4});
  item.masks.push_back(blank(40, 60, 1));
  const Move objects{.masks_of_objects = true};
  const AnnotatedPicture left = moved(item, Transform2D::translation(-9.5, 0), 40, 60, objects);
  ASSERT_EQ(left.boxes.size(), 1u);
  EXPECT_EQ(left.boxes[0].label, 4);
  EXPECT_EQ(left.masks.size(), 1u);
  EXPECT_FALSE(left.keypoints[0].is_visible);
  Move all = objects;
  all.least_visible = 0;
  const AnnotatedPicture cut = moved(item, Transform2D::translation(-9.5, 0), 40, 60, all);
  ASSERT_EQ(cut.boxes.size(), 2u);
  EXPECT_NEAR(cut.boxes[0].width, 0.5, 1e-12);
  EXPECT_EQ(moved(item, Transform2D::translation(-200, 0), 40, 60, all).boxes.size(), 0u);
}

TEST(Annotated, ChangesTheSidesOfKeypoints) {
  AnnotatedPicture item{.picture = blank(4, 10, 1), .keypoints = {{1, 1}, {8, 1}, {5, 1}}};
  const Move hands{.mirrored_keypoints = {{0, 1}}};
  const AnnotatedPicture turned = mirrored(item, hands);
  EXPECT_EQ(turned.keypoints[0].x, 2);  // what was the right one at 8
  EXPECT_EQ(turned.keypoints[1].x, 9);
  EXPECT_EQ(turned.keypoints[2].x, 5);
  EXPECT_EQ(moved(item, Transform2D::translation(1, 0), 4, 10, hands).keypoints[0].x, 2);
}

TEST(Annotated, FillsWhatComesIn) {
  const AnnotatedPicture item = rectangle(20, 12, 14, 8);
  const AnnotatedPicture right = moved(item, Transform2D::translation(10, 0), 40, 60, {.fill = 114, .mask_fill = 255});
  EXPECT_EQ(*right.picture.at(3, 4), 114);
  EXPECT_EQ(*right.masks[0].at(3, 4), 255);
}

TEST(Annotated, IsChangedBeforeItIsBatched) {
  const AnnotatedPicture items[] = {rectangle(2, 2, 3, 3), rectangle(5, 5, 9, 9)};
  const Key keys[] = {Key{1}, Key{2}};
  const auto batcher = changing<AnnotatedPicture>(
      [](const AnnotatedPicture& x, Random& random) { return randomly_mirrored(x, random, 1); },
      [](std::span<const AnnotatedPicture> changed) { return changed[0].boxes[0].left + changed[1].boxes[0].left; });
  EXPECT_EQ(batcher(items, keys), 60 - 5 + 60 - 14);
}

TEST(Annotated, SaysWhatIsWrong) {
  AnnotatedPicture item = rectangle(2, 2, 3, 3);
  Random random(Key{1});
  EXPECT_EQ(sentence_of([&] { return mirrored(item, {.mirrored_keypoints = {{0, 4}}}); }),
            "IndexError: mirrored: keypoints 0 and 4 change places, of 1");
  EXPECT_EQ(
      sentence_of([&] { return random_affine(item, {.least_scale = 0}, random); }),
      "ArgumentError: random_affine: least_scale = 0 and most_scale = 1 must be in order, above 0 and at most 10^6");
  EXPECT_EQ(sentence_of([&] { return moved(item, {}, 40, 60, {.least_visible = 2}); }),
            "ArgumentError: moved: least_visible = 2 is not from 0 to 1");
  EXPECT_EQ(sentence_of([&] { return cropped(item, {0, 0, 41, 3}, 5, 5); }),
            "ShapeError: crop: 41 x 3 pixels from (0, 0) on do not lie in 40 x 60");
  item.masks[0] = blank(3, 3, 1);
  EXPECT_EQ(sentence_of([&] { return mirrored(item); }),
            "ShapeError: mirrored: a mask of 3 x 3 pixels and 1 channels for a picture of 40 x 60");
}

}  // namespace
}  // namespace kiln
