// What is drawn for people to look at, pixel by pixel, and pictures to tensors and back.
#include "kiln/vision/draw.hpp"

#include <limits>

#include "kiln/vision/display.hpp"
#include "tests/vision/figures.hpp"

namespace kiln::vision {
namespace {

/// A grey picture as text: '.' where it is black.
std::string rows_of(const Picture& picture) {
  std::string rows;
  for (std::int64_t y = 0; y < picture.height; ++y) {
    for (std::int64_t x = 0; x < picture.width; ++x) rows += *picture.at(y, x) == 0 ? '.' : '#';
    rows += '\n';
  }
  return rows;
}

constexpr Colour kWhite{255, 255, 255};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Draw, Boxes) {
  const DrawnBox boxes[] = {{.x1 = 1, .y1 = 1, .x2 = 6, .y2 = 5, .colour = kWhite},
                            {.x1 = 5, .y1 = 1, .x2 = 2, .y2 = 4},
                            {.x1 = kNan, .y1 = 0, .x2 = 3, .y2 = 3}};
  EXPECT_EQ(rows_of(draw_boxes(blank(6, 8, 1), boxes, {.thickness = 1})),
            "........\n"
            ".#####..\n"
            ".#...#..\n"
            ".#...#..\n"
            ".#####..\n"
            "........\n");
  const DrawnBox large[] = {{.x1 = -1e30, .y1 = 2, .x2 = 1e30, .y2 = 1e30, .colour = kWhite}};
  EXPECT_EQ(rows_of(draw_boxes(blank(4, 3, 1), large)), "...\n...\n###\n###\n");
}

TEST(Draw, Keypoints) {
  const Position points[] = {{1.5, 1.5}, {5.5, 1.5}, {kNan, 3}};
  EXPECT_EQ(rows_of(draw_keypoints(blank(4, 8, 1), points,
                                   {.radius = 1, .bones = {{0, 1}, {1, 2}}, .thickness = 1, .colour = kWhite})),
            ".#...#..\n"
            "#######.\n"
            ".#...#..\n"
            "........\n");
  EXPECT_EQ(sentence_of([&] { return draw_keypoints(blank(4, 8, 1), points, {.bones = {{0, 3}}}); }),
            "IndexError: draw_keypoints: there are 3 keypoints, and a bone joins 0 and 3");
}

TEST(Draw, Masks) {
  const std::vector<std::uint8_t> masks[] = {{1, 0, 0, 1}};
  const Colour red[] = {{200, 0, 0}};
  EXPECT_EQ(draw_masks(blank(2, 2, 3), masks, 0.5, red).pixels,
            (std::vector<std::uint8_t>{100, 0, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0}));
  EXPECT_EQ(sentence_of([&] { return draw_masks(blank(2, 3, 3), masks); }),
            "ShapeError: draw_masks: mask 0 has 4 pixels, the picture 6");
}

TEST(Draw, Text) {
  if (!has_font()) {
    EXPECT_EQ(sentence_of([] { return draw_text(blank(9, 9, 1), "I", 0, 0); }),
              "ArgumentError: draw_text: this Kiln was built without stb_easy_font (Debian: libstb-dev)");
    GTEST_SKIP() << "this Kiln was built without stb_easy_font";
  }
  EXPECT_EQ(rows_of(draw_text(blank(9, 12, 1), "LT", 1, 0, kWhite)),
            ".#.....#####\n"
            ".#.......#..\n"
            ".#.......#..\n"
            ".#.......#..\n"
            ".#.......#..\n"
            ".#.......#..\n"
            ".####....#..\n"
            "............\n"
            "............\n");
  EXPECT_EQ(text_size("LT\nx", 3).height, 72);
  // Bytes that are no text, and places outside.
  EXPECT_EQ(rows_of(draw_text(blank(9, 7, 1), "\xff", 0, 0, kWhite)),
            rows_of(draw_text(blank(9, 7, 1), "?", 0, 0, kWhite)));
  EXPECT_EQ(draw_text(blank(9, 7, 1), "far away", 1e30, kNan, kWhite).pixels, blank(9, 7, 1).pixels);
  const DrawnBox labelled[] = {{.x1 = 0, .y1 = 14, .x2 = 30, .y2 = 25, .label = "cat 0.9"}};
  EXPECT_NE(draw_boxes(blank(30, 60, 3), labelled).pixels[3 * (5 * 60 + 1)], 0);
}

TEST(Draw, SaysWhatIsWrong) {
  EXPECT_EQ(sentence_of([] { return draw_boxes(blank(2, 2, 4), {}); }),
            "ShapeError: draw_boxes: a picture of 4 channels; there must be 1 or 3");
  EXPECT_EQ(sentence_of([] { return draw_boxes(blank(2, 2, 3), {}, {.thickness = 0}); }),
            "ArgumentError: draw_boxes: thickness = 0 is not from 1 to 1000");
}

// ---- tensors and pictures ------------------------------------------------------------------------------------------

TEST(Display, BringsNumbersIntoBytes) {
  constexpr float kLost = std::numeric_limits<float>::quiet_NaN();
  const Value x = from_data(TensorData::of<float>({1, 1, 1, 5}, {-1, 0, 0.5f, 2, kLost}), test::cpu);
  EXPECT_EQ(pictures_of(x)[0].pixels, (std::vector<std::uint8_t>{0, 0, 128, 255, 0}));
  EXPECT_EQ(pictures_of(x, {.low = -1, .high = 2})[0].pixels, (std::vector<std::uint8_t>{0, 85, 128, 255, 0}));
  EXPECT_EQ(pictures_of(x, {.spread = true})[0].pixels, (std::vector<std::uint8_t>{0, 85, 128, 255, 0}));
  EXPECT_EQ(pictures_of(x, {.mean = {0.5}, .deviation = {0.5}})[0].pixels,
            (std::vector<std::uint8_t>{0, 128, 191, 255, 0}));
  EXPECT_EQ(pictures_of(full({2, 2}, 3, test::cpu), {.spread = true})[0].pixels, std::vector<std::uint8_t>(4));
  EXPECT_EQ(pictures_of(gt(x, 0))[0].pixels, (std::vector<std::uint8_t>{0, 0, 255, 255, 0}));
}

TEST(Display, PutsTheChannelsOfAPixelSideBySide) {
  const std::vector<float> numbers = {0, 1, 0.2f, 0.4f, 2, -1, 0.6f, 0.8f, 0, 0, 1, 1};
  const auto pictures = pictures_of(Tensor<4>::of(numbers, {2, 3, 1, 2}, test::cpu));
  ASSERT_EQ(pictures.size(), 2u);
  EXPECT_EQ(pictures[0], (Picture{.pixels = {0, 51, 255, 255, 102, 0}, .height = 1, .width = 2, .channels = 3}));
  EXPECT_EQ(pictures[1].pixels, (std::vector<std::uint8_t>{153, 0, 255, 204, 0, 255}));
}

TEST(Display, TakesChannelsInAnyOrder) {
  const Value x = stored_value("bytes");
  const std::vector<Picture> pictures = pictures_of(x);
  ASSERT_EQ(pictures.size(), 2u);
  EXPECT_EQ(difference(tensor_of(pictures, test::cpu).data(), x.data()), "");
  EXPECT_EQ(difference(tensor_of(pictures, test::cpu, ChannelOrder::Bgr).data(), flip(x, {1}).data()), "");
  EXPECT_EQ(pictures_of(flip(x, {1}), {.order = ChannelOrder::Bgr}), pictures);
  EXPECT_EQ(pictures_of(permute(x, {0, 2, 3, 1}), {.place = ChannelPlace::Last}), pictures);
  // Channels that are no colours stand side by side.
  const Picture beside = pictures_of(narrow(x, 1, 0, 2))[1];
  EXPECT_EQ(beside.width, 34);
  EXPECT_EQ(beside.at(5, 17 + 4)[0], pictures[1].at(5, 4)[1]);
}

TEST(Display, PutsPicturesIntoAGrid) {
  Picture one = blank(2, 2, 1), two = blank(1, 3, 3);
  std::ranges::fill(one.pixels, std::uint8_t{9});
  std::ranges::fill(two.pixels, std::uint8_t{7});
  const Picture grid = grid_of(std::vector{one, two, one}, {.columns = 2, .gap = 1});
  EXPECT_EQ(grid.height, 7);
  EXPECT_EQ(grid.width, 9);
  EXPECT_EQ(grid.channels, 3);
  EXPECT_EQ(rows_of(grid), ".........\n.##..###.\n.##......\n.........\n.##......\n.##......\n.........\n");
}

TEST(Display, SaysWhatIsWrong) {
  const Value x = stored_value("floats");
  EXPECT_EQ(sentence_of([&] { return pictures_of(x, {.low = 1, .high = 1}); }),
            "ArgumentError: pictures_of: the range from 1 to 1 must be in order and finite");
  EXPECT_EQ(sentence_of([&] { return pictures_of(x, {.mean = {1, 2}}); }),
            "ArgumentError: pictures_of: 2 means for 3 channels");
  EXPECT_EQ(sentence_of([&] { return pictures_of(zeros({1, 3, 0, 2}, test::cpu)); }),
            "ShapeError: pictures_of: pictures [1, 3, 0, 2] have no pixels");
  EXPECT_EQ(sentence_of([&] { return tensor_of(std::vector{blank(2, 2, 3), blank(2, 3, 3)}, test::cpu); }),
            "ShapeError: tensor_of: pictures of 2 x 2 pixels and 3 channels, and one of 2 x 3 and 3");
  EXPECT_EQ(sentence_of([&] { return grid_of({}); }), "ShapeError: grid_of: there are no pictures");
}

}  // namespace
}  // namespace kiln::vision
