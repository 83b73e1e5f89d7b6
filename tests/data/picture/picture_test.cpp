#include "kiln/data/picture/picture.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include <gtest/gtest.h>

#include "kiln/data/loader.hpp"
#include "kiln/data/picture/augment.hpp"
#include "kiln/data/picture/cifar.hpp"
#include "kiln/data/picture/colour.hpp"
#include "kiln/data/picture/geometry.hpp"
#include "kiln/data/picture/mix.hpp"

#include "tests/data/picture/figures.hpp"
#include "tests/data/raised.hpp"

namespace kiln {
namespace {

using test::raised;

/// What picture_figures.py calls values().
Picture pattern(std::int64_t height = 5, std::int64_t width = 7, std::int64_t most = 256, std::int64_t base = 0) {
  Picture picture = blank(height, width, 3);
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      for (std::int64_t c = 0; c < 3; ++c)
        picture.at(y, x)[c] =
            static_cast<std::uint8_t>(base + ((x * 37 + y * 91 + c * 53) * 17 + x * x * y * 3) % most);
  return picture;
}

/// The values are those of the figures, give or take `tolerance`.
void expect_near(const Picture& picture, std::span<const std::uint8_t> figures, int tolerance) {
  ASSERT_EQ(picture.pixels.size(), figures.size());
  for (std::size_t i = 0; i < figures.size(); ++i)
    EXPECT_LE(std::abs(int{picture.pixels[i]} - int{figures[i]}), tolerance)
        << "value " << i << ": " << int{picture.pixels[i]} << ", not " << int{figures[i]};
}

TEST(Geometry, AgreesWithPillow) {
  expect_near(resized(pattern(), 3, 4), test::pillow("smaller"), 1);
  expect_near(resized(pattern(), 8, 9), test::pillow("larger"), 1);
  expect_near(rotated(pattern(), 30), test::pillow("rotated_30"), 1);
  expect_near(affine(pattern(), {1, 0.3, -0.75, 0, 1, 0}), test::pillow("sheared"), 1);
}

TEST(Geometry, TurnsSquaresExactly) {
  const Picture square = crop(pattern(), 0, 1, 5, 5);
  const Picture turned = rotated(square, 90);
  for (std::int64_t y = 0; y < 5; ++y)
    for (std::int64_t x = 0; x < 5; ++x)
      EXPECT_TRUE(std::equal(turned.at(y, x), turned.at(y, x) + 3, square.at(x, 4 - y)));
  EXPECT_EQ(rotated(square, 0), square);
  EXPECT_EQ(rotated(square, 180), flipped(mirrored(square)));
}

TEST(Geometry, MovesPixels) {
  const Picture picture = pattern();
  const Picture part = crop(picture, 1, 2, 3, 4);
  EXPECT_EQ(part.at(0, 0)[1], picture.at(1, 2)[1]);
  EXPECT_EQ(part.at(2, 3)[2], picture.at(3, 5)[2]);
  EXPECT_EQ(centre_crop(picture, 3, 3), crop(picture, 1, 2, 3, 3));
  EXPECT_EQ(crop(padded(picture, 2), 2, 2, 5, 7), picture);
  EXPECT_EQ(padded(picture, 2, 9).at(1, 5)[0], 9);
  EXPECT_EQ(mirrored(picture).at(2, 0)[0], picture.at(2, 6)[0]);
  EXPECT_EQ(flipped(picture).at(0, 3)[0], picture.at(4, 3)[0]);
  EXPECT_EQ(mirrored(mirrored(picture)), picture);
  EXPECT_EQ(resized(picture, 5, 7), picture);
  const Picture half = resized_to(pattern(10, 25), 4);
  EXPECT_EQ(half.height, 4);
  EXPECT_EQ(half.width, 10);
  EXPECT_EQ(raised<ShapeError>([&] { crop(picture, 3, 0, 3, 4); }),
            "crop: 3 x 4 pixels from (3, 0) on do not lie in 5 x 7");
  EXPECT_THROW(crop(picture, 0, 0, std::int64_t{1} << 62, 1), ShapeError);
  EXPECT_THROW(centre_crop(picture, 6, 6), ShapeError);
  EXPECT_THROW(resized(picture, 0, 3), ShapeError);
  EXPECT_THROW(padded(picture, std::int64_t{1} << 62), ShapeError);
  EXPECT_EQ(raised<ShapeError>([] { mirrored({}); }), "mirrored: a picture of [0, 0, 3] has 0 values");
}

TEST(Colour, AgreesWithPillow) {
  expect_near(grey_of(pattern()), test::pillow("grey"), 0);
  expect_near(with_brightness(pattern(), 1.4), test::pillow("brighter"), 1);
  expect_near(with_contrast(pattern(), 0.5), test::pillow("less_contrast"), 1);
  expect_near(with_contrast(pattern(), 1.7), test::pillow("more_contrast"), 1);
  expect_near(with_saturation(pattern(), 1.5), test::pillow("more_colour"), 1);
  expect_near(with_sharpness(pattern(), 0.2), test::pillow("smoother"), 1);
  expect_near(posterized(pattern(), 3), test::pillow("posterized"), 0);
  expect_near(solarized(pattern(), 100), test::pillow("solarized"), 0);
  expect_near(crop(autocontrasted(pattern(15, 20, 120, 60)), 0, 0, 2, 5), test::pillow("autocontrasted"), 1);
  expect_near(crop(equalized(pattern(30, 40, 120, 60)), 0, 0, 2, 5), test::pillow("equalized"), 0);
  expect_near(with_hue(pattern(), 0.2), test::pillow("turned"), 1);
}

TEST(Colour, LeavesWhatThereIsNothingToChange) {
  const Picture picture = pattern(), flat = blank(3, 3, 3), grey = grey_of(picture);
  for (const auto change : {with_brightness, with_contrast, with_saturation, with_sharpness})
    EXPECT_EQ(change(picture, 1), picture);
  EXPECT_EQ(with_hue(picture, 0), picture);
  EXPECT_EQ(with_hue(grey, 0.3), grey);
  EXPECT_EQ(with_saturation(grey, 0), grey);
  EXPECT_EQ(autocontrasted(flat), flat);
  EXPECT_EQ(equalized(flat), flat);
  EXPECT_EQ(posterized(picture, 8), picture);
  EXPECT_EQ(solarized(picture, 256), picture);
  EXPECT_THROW(with_brightness(picture, -1), ArgumentError);
  EXPECT_THROW(with_hue(picture, 0.6), ArgumentError);
  EXPECT_EQ(raised<ShapeError>([] { grey_of(blank(1, 1, 2)); }),
            "grey_of: a picture of 2 channels is neither grey nor coloured");
}

TEST(Augment, IsAFunctionOfItsKey) {
  const Picture picture = pattern(40, 50);
  std::set<std::vector<std::uint8_t>> seen;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto once = [&] {
      Random random(seed);
      Picture x = random_resized_crop(picture, {.height = 16, .width = 12}, random);
      EXPECT_EQ(x.height, 16);
      EXPECT_EQ(x.width, 12);
      x = colour_jittered(x, {.brightness = 0.4, .contrast = 0.4, .saturation = 0.4, .hue = 0.1}, random);
      return rand_augmented(randomly_mirrored(x, random), {.operations = 3, .magnitude = 15}, random);
    };
    const Picture x = once();
    EXPECT_EQ(once(), x);
    require_sound("augmented", x);
    seen.insert(x.pixels);
  }
  EXPECT_EQ(seen.size(), 60u);
}

TEST(Augment, FindsPartsOfLongPictures) {
  Random random(std::uint64_t{1});
  EXPECT_EQ(random_resized_crop(pattern(2, 300), {.height = 8, .width = 8}, random).height, 8);
  EXPECT_EQ(random_resized_crop(pattern(1, 1), {.height = 3, .width = 3}, random), resized(pattern(1, 1), 3, 3));
  EXPECT_THROW(random_crop(pattern(), 6, 6, random), ShapeError);
  EXPECT_THROW(random_resized_crop(pattern(), {.least_area = 0}, random), ArgumentError);
  EXPECT_THROW(rand_augmented(pattern(), {.magnitude = 31}, random), ArgumentError);
  EXPECT_THROW(colour_jittered(pattern(), {.hue = -1}, random), ArgumentError);
}

DatasetPtr<LabelledPicture> labelled(int count) {
  std::vector<LabelledPicture> all;
  for (int i = 0; i < count; ++i) all.push_back({pattern(8, 8, 256 - i), i % 3});
  return in_memory(std::move(all));
}

TEST(Augment, IsTheSameForAnyNumberOfWorkers) {
  const auto epoch = [](int workers, std::int64_t from) {
    const auto change = [](const Picture& x, Random& random) {
      return rand_augmented(random_crop(padded(x, 2), 8, 8, random), {}, random);
    };
    DataLoader loader(labelled(20), augmenting(change, PictureBatcher{}),
                      {.batch_size = 4, .shuffle = true, .seed = 3, .workers = workers});
    loader.set_epoch(2, from);
    std::vector<float> all;
    for (const auto& batch : loader) {
      const auto values = batch.images.to_vector<float>();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  };
  const auto expected = epoch(0, 0);
  EXPECT_EQ(epoch(3, 0), expected);
  EXPECT_EQ(epoch(2, 3), std::vector<float>(expected.begin() + 12 * 3 * 64, expected.end()));
}

TEST(PictureBatcher, PutsChannelsFirst) {
  const std::vector<LabelledPicture> items = {{pattern(), 4}, {mirrored(pattern()), 2}};
  const PictureBatch batch = PictureBatcher::image_net()(items);
  EXPECT_EQ(batch.images.shape(), (Shape{2, 3, 5, 7}));
  EXPECT_EQ(batch.targets.to_vector<std::int64_t>(), (std::vector<std::int64_t>{4, 2}));
  EXPECT_EQ(batch.items(), 2);
  const auto values = batch.images.as<float>();
  const double means[] = {0.485, 0.456, 0.406}, deviations[] = {0.229, 0.224, 0.225};
  for (std::size_t c = 0; c < 3; ++c)
    EXPECT_NEAR(values[((3 + c) * 5 + 2) * 7 + 1], (items[1].picture.at(2, 1)[c] / 255.0 - means[c]) / deviations[c],
                1e-6);
  EXPECT_EQ(raised<ShapeError>([] { PictureBatcher{}({}); }), "picture batch: a batch needs at least one picture");
  const std::vector<LabelledPicture> unequal = {{pattern(), 0}, {pattern(5, 6), 0}};
  EXPECT_EQ(raised<ShapeError>([&] { PictureBatcher{}(unequal); }),
            "picture batch: picture 1 is [5, 6, 3], the first is [5, 7, 3]");
  EXPECT_THROW((PictureBatcher{.mean = {0, 0}}(items)), ArgumentError);
  EXPECT_THROW((PictureBatcher{.deviation = {0}}(items)), ArgumentError);
}

PictureBatch batch_of(std::span<const LabelledPicture> items) { return PictureBatcher{}(items); }

TEST(Mix, SharesPicturesAndTargets) {
  std::vector<LabelledPicture> items;
  for (int i = 0; i < 3; ++i) items.push_back({blank(10, 12, 3), i});
  for (auto& value : items[1].picture.pixels) value = 255;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const MixedBatch up = mixup(batch_of(items), 4, 0.7, random);
    // Picture 1 is white, the others are black: how much white there is, is how much of class 1.
    EXPECT_NEAR(up.images.as<float>()[1 * 360 + 77], up.targets.as<float>()[1 * 4 + 1], 1e-6);
    EXPECT_NEAR(up.images.as<float>()[2 * 360 + 5], up.targets.as<float>()[2 * 4 + 1], 1e-6);
    EXPECT_EQ(up.images.as<float>()[0], 0);
    const MixedBatch cut = cutmix(batch_of(items), 4, 1, random);
    for (std::size_t i = 0; i < 3; ++i) {
      double white = 0, all = 0;
      for (std::size_t pixel = 0; pixel < 360; ++pixel)
        white += static_cast<double>(cut.images.as<float>()[i * 360 + pixel]);
      for (std::size_t c = 0; c < 4; ++c) all += static_cast<double>(cut.targets.as<float>()[i * 4 + c]);
      EXPECT_NEAR(white / 360, static_cast<double>(cut.targets.as<float>()[i * 4 + 1]), 1e-6);
      EXPECT_NEAR(all, 1, 1e-6);
    }
  }
  Random random(std::uint64_t{1});
  EXPECT_EQ(raised<DataError>([&] { mixup(batch_of(items), 2, 1, random); }),
            "mixed batch: the label 2 is none of 2 classes");
  EXPECT_THROW(mixup(batch_of(items), 3, 0, random), ArgumentError);
}

TEST(Mix, DrawsBetaNumbers) {
  // Mean a / (a + b), variance ab / ((a + b)^2 (a + b + 1)).
  for (const auto& [a, b] : {std::pair{0.2, 0.2}, {1.0, 1.0}, {2.0, 5.0}, {0.01, 0.01}}) {
    Random random(std::uint64_t{7});
    const int count = 40'000;
    double sum = 0, squares = 0;
    for (int i = 0; i < count; ++i) {
      const double x = draw_beta(a, b, random);
      ASSERT_TRUE(x >= 0 && x <= 1);
      sum += x;
      squares += x * x;
    }
    const double mean = sum / count, variance = a * b / ((a + b) * (a + b) * (a + b + 1));
    EXPECT_NEAR(mean, a / (a + b), 5 * std::sqrt(variance / count));
    EXPECT_NEAR(squares / count - mean * mean, variance, 0.03 * variance);
  }
}

TEST(Cifar, ReadsItsRecords) {
  std::vector<std::byte> ten(2 * 3073), hundred(3074);
  ten[3073] = std::byte{9};
  ten[3073 + 1 + 33] = std::byte{200};         // red of the pixel at (1, 1)
  ten[3073 + 1 + 2048 + 1023] = std::byte{7};  // blue of the last
  hundred[0] = std::byte{20}, hundred[1] = std::byte{99};
  const Cifar pictures({{ten, "a.bin", nullptr}, {ten, "b.bin", nullptr}}, CifarKind::Ten);
  EXPECT_EQ(pictures.size(), 4);
  EXPECT_EQ(pictures.get(0).label, 0);
  const LabelledPicture last = pictures.get(3);
  EXPECT_EQ(last.label, 9);
  EXPECT_EQ(last.picture.at(1, 1)[0], 200);
  EXPECT_EQ(last.picture.at(31, 31)[2], 7);
  EXPECT_EQ(Cifar({{hundred, "c.bin", nullptr}}, CifarKind::Hundred).get(0).label, 99);
  const auto refused = [](std::vector<std::byte> bytes) {
    return raised<DataError>([&] { Cifar({{bytes, "a.bin", nullptr}}, CifarKind::Ten); });
  };
  EXPECT_EQ(refused(std::vector<std::byte>(3072)), "a.bin: 3072 bytes are no pictures of 3073 bytes each");
  EXPECT_EQ(refused({}), "a.bin: 0 bytes are no pictures of 3073 bytes each");
  ten[3073] = std::byte{10};
  EXPECT_EQ(refused(ten), "a.bin: the label of picture 1 is 10, not 0 to 9");
  EXPECT_EQ(raised<DataError>([] { Cifar::load("/nowhere", CifarKind::Hundred, Split::Test); }),
            "CIFAR: /nowhere has no file test.bin");
}

}  // namespace
}  // namespace kiln
