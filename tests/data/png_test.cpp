// What is written, read by another's library.
#include "kiln/data/png.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "tests/data/raised.hpp"
#include "tests/store/temporary.hpp"

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#include <stb/stb_image.h>
#pragma GCC diagnostic pop

namespace kiln {
namespace {

using test::raised;

/// The bytes of a picture of that size.
std::vector<int> read_back(const std::string& path, int wide, int high, int deep = 1) {
  int width = 0, height = 0, channels = 0;
  const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(stbi_load(path.c_str(), &width, &height, &channels, 0),
                                                         stbi_image_free);
  EXPECT_EQ((std::vector{width, height, channels}), (std::vector{wide, high, deep}));
  return pixels ? std::vector<int>(pixels.get(), pixels.get() + width * height * channels) : std::vector<int>();
}

TEST(Png, HoldsThePixels) {
  const TemporaryFile file("a.png");
  const float infinity = std::numeric_limits<float>::infinity();
  write_png({.pixels = {0, 1, 0.5f, -3, 7, 0.2f, std::nanf(""), infinity}, .height = 2, .width = 4}, file.path);
  EXPECT_EQ(read_back(file.path, 4, 2), (std::vector{0, 255, 128, 0, 255, 51, 0, 255}));

  Image noise{.pixels = {}, .height = 100, .width = 77};
  std::vector<int> right;
  for (int i = 0; i < 100 * 77; ++i) {
    right.push_back(i * i % 251);
    noise.pixels.push_back(static_cast<float>(right.back()) / 255);
  }
  write_png(noise, file.path);
  EXPECT_EQ(read_back(file.path, 77, 100), right);
}

TEST(Png, HoldsColours) {
  const TemporaryFile file("a.png");
  Picture picture{.pixels = {}, .height = 3, .width = 5, .channels = 3};
  for (int i = 0; i < 3 * 5 * 3; ++i) picture.pixels.push_back(static_cast<std::uint8_t>(i * 37));
  write_picture(picture, file.path);
  EXPECT_EQ(read_back(file.path, 5, 3, 3), (std::vector<int>(picture.pixels.begin(), picture.pixels.end())));
  const Picture grey{.pixels = {7, 9}, .height = 2, .width = 1, .channels = 1};
  write_picture(grey, file.path);
  EXPECT_EQ(read_back(file.path, 1, 2), (std::vector{7, 9}));
}

TEST(Png, GridsAreImagesSideBySide) {
  const auto one = [](float bright) { return Image{.pixels = {bright, 0}, .height = 1, .width = 2}; };
  const Image grid = grid_of(std::vector{one(1), one(2), one(3)}, 2, 2);
  const float o = 0.25f;
  EXPECT_EQ(grid.height, 7);
  EXPECT_EQ(grid.width, 11);
  EXPECT_EQ(grid.pixels, (std::vector<float>{o, o, o, o, o, o, o, o, o, o, o,  //
                                             o, 1, 1, 0, 0, o, 2, 2, 0, 0, o,  //
                                             o, 1, 1, 0, 0, o, 2, 2, 0, 0, o,  //
                                             o, o, o, o, o, o, o, o, o, o, o,  //
                                             o, 3, 3, 0, 0, o, o, o, o, o, o,  //
                                             o, 3, 3, 0, 0, o, o, o, o, o, o,  //
                                             o, o, o, o, o, o, o, o, o, o, o}));
  EXPECT_EQ(grid_of(std::vector{one(1)}, 10).width, 4);
}

TEST(Png, RefusesWhatIsNoPicture) {
  const Image image{.pixels = {0, 1}, .height = 1, .width = 2}, tall{.pixels = {0, 1}, .height = 2, .width = 1};
  EXPECT_EQ(raised<ShapeError>([&] { write_png({.pixels = {0}, .height = 1, .width = 2}, "a.png"); }),
            "write_png: an image of [1, 2] has 1 pixels");
  EXPECT_EQ(raised<ShapeError>([&] { write_png({}, "a.png"); }), "write_png: an image of [0, 0] has 0 pixels");
  EXPECT_EQ(raised<ShapeError>([&] { grid_of({}, 3); }), "grid_of: a grid needs at least one image");
  EXPECT_EQ(raised<ShapeError>([&] { grid_of(std::vector{image, tall}, 3); }),
            "grid_of: an image of [2, 1] beside one of [1, 2]");
  EXPECT_EQ(raised<ArgumentError>([&] { grid_of({&image, 1}, 0); }), "grid_of: columns = 0 must be positive");
  EXPECT_EQ(raised<ArgumentError>([&] { grid_of({&image, 1}, 1, 65); }),
            "grid_of: scale = 65 must lie between 1 and 64");
  const Picture pale{.pixels = {1, 2, 3, 4}, .height = 1, .width = 1, .channels = 4};
  EXPECT_EQ(raised<ShapeError>([&] { write_picture(pale, "a.png"); }),
            "write_picture: a picture of 4 channels, not 1 or 3");
  EXPECT_THROW(write_png(image, "/no/such/folder/a.png"), IoError);
}

}  // namespace
}  // namespace kiln
