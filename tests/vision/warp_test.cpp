// Maps of the plane, and what they make of pictures, boxes and points; pictures beside OpenCV's.
#include "kiln/vision/warp.hpp"

#include <numbers>

#include "tests/vision/figures.hpp"

namespace kiln::vision {
namespace {

Transform2D::Matrix matrix_of(const std::string& name) {
  Transform2D::Matrix matrix{0, 0, 0, 0, 0, 0, 0, 0, 1};
  std::ranges::copy(stored(name).to_vector<double>(), matrix.begin());
  return matrix;
}

void expect_position(const Position& actual, double x, double y) {
  EXPECT_NEAR(actual.x, x, 1e-9);
  EXPECT_NEAR(actual.y, y, 1e-9);
}

TEST(Transform2D, MovesPositions) {
  expect_position(Transform2D()({3, 4}), 3, 4);
  expect_position(Transform2D::translation(2, -1)({3, 4}), 5, 3);
  expect_position(Transform2D::scaling(2, 3, {1, 1})({3, 4}), 5, 10);
  expect_position(Transform2D::rotation(90, {1, 1})({2, 1}), 1, 0);  // counter-clockwise, as y runs down
  expect_position(Transform2D::shear(0.5, 0)({3, 4}), 5, 4);
  expect_position(Transform2D::mirrored_across(10)({3, 4}), 7, 4);
  expect_position(Transform2D::mirrored_down(10)({3, 4}), 3, 6);
}

TEST(Transform2D, Composes) {
  const Transform2D turned = Transform2D::rotation(30), moved = Transform2D::translation(5, 1);
  const Position there = turned({2, 7});
  expect_position((moved * turned)({2, 7}), there.x + 5, there.y + 1);
  const Transform2D all = moved * turned * Transform2D::shear(0.3, -0.2) * Transform2D::scaling(2, 0.5);
  const Position p = all({3, -4});
  expect_position(all.inverse()(p), 3, -4);
  EXPECT_EQ(sentence_of([] { return Transform2D::scaling(1, 0).inverse(); }),
            "ArgumentError: inverse: the map takes the plane to a line: its determinant is 0");
  EXPECT_EQ(sentence_of([] { return Transform2D::translation(1.0 / 0.0, 0); }),
            "ArgumentError: Transform2D: inf in the matrix is not finite");
}

TEST(Transform2D, IsOpenCvsWhereItCountsFromCentres) {
  const std::vector<double> wanted = stored("warp.rotation").to_vector<double>();
  // OpenCV turns about the centre of a pixel.
  const Transform2D turned = Transform2D::scaling(1.25, 1.25, {8, 4.5}) * Transform2D::rotation(33, {8, 4.5});
  const Transform2D opencv = Transform2D::from_centres(matrix_of("warp.rotation"));
  for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(turned.matrix()[i], opencv.matrix()[i], 1e-9) << i;

  const std::vector<double> corners = stored("warp.corners").to_vector<double>();
  std::array<Position, 4> from, to;
  for (std::size_t i = 0; i < 4; ++i) {
    from[i] = {corners[2 * i], corners[2 * i + 1]};
    to[i] = {corners[8 + 2 * i], corners[8 + 2 * i + 1]};
  }
  const Transform2D map = Transform2D::perspective(from, to);
  const std::vector<double> of_opencv = stored("warp.of_corners").to_vector<double>();
  for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(map.matrix()[i] / map.matrix()[8], of_opencv[i], 1e-6) << i;
  for (std::size_t i = 0; i < 4; ++i) expect_position(map(from[i]), to[i].x, to[i].y);
  from[1] = {6, 5};
  from[2] = {11, 8};
  from[0] = {1, 2};
  EXPECT_NE(sentence_of([&] { return Transform2D::perspective(from, to); }).find("lie on a line"), std::string::npos);
}

TEST(Transform2D, MovesBoxesAndPointsAsTensors) {
  const Transform2D turned = Transform2D::rotation(90);
  const Value boxes = from_data(TensorData::of<float>({1, 4}, {1, 2, 5, 3}), test::cpu);
  EXPECT_EQ(difference(turned.boxes(boxes).data(), TensorData::of<float>({1, 4}, {2, -5, 3, -1})), "");
  const Transform2D map(matrix_of("warp.perspective"));
  const TensorData points = numbers_of({3, 2}, 0, 9);
  const std::vector<double> moved = map.points(from_data(points, test::cpu)).data().to_vector<double>();
  for (std::size_t i = 0; i < 3; ++i)
    expect_position(map({points.as<double>()[2 * i], points.as<double>()[2 * i + 1]}), moved[2 * i], moved[2 * i + 1]);
  expect_gradients(points, [&](const Value& v) { return map.points(v); });
  EXPECT_EQ(sentence_of([&] { return map.boxes(zeros({3, 2}, test::cpu)); }),
            "ShapeError: boxes: boxes are [..., 4], got [3, 2]");
}

TEST(Warp, IsOpenCvs) {
  const Transform2D affine = Transform2D::from_centres(matrix_of("warp.matrix"));
  const Transform2D perspective = Transform2D::from_centres(matrix_of("warp.perspective"));
  const auto expect = [](int i, const std::function<Value(const Value&)>& f, double bytes, double floats) {
    expect_near(f(stored_value("bytes")), text("warp.bytes.", i), bytes);
    expect_near(f(stored_value("floats")), text("warp.floats.", i), floats);
  };
  for (int i = 0; i < 5; ++i)
    expect(
        i,
        [&](const Value& x) {
          return warp(x, affine, {.height = 11, .width = 19, .border = static_cast<Border>(i), .value = 7});
        },
        1, 1e-4);
  constexpr Interpolation kModes[] = {Interpolation::Nearest, Interpolation::Linear, Interpolation::Cubic};
  for (int i = 0; i < 3; ++i)
    expect(
        5 + i, [&](const Value& x) { return warp(x, affine, {.mode = kModes[i], .border = Border::Replicate}); }, 1,
        1e-4);
  expect(8, [&](const Value& x) { return warp(x, perspective); }, 1, 1e-4);
}

TEST(Warp, OfAMirrorIsAFlip) {
  const Value x = stored_value("bytes");
  EXPECT_EQ(difference(warp(x, Transform2D::mirrored_across(17)).data(), flip_across(x).data()), "");
  EXPECT_EQ(difference(warp(x, Transform2D::mirrored_down(13)).data(), flip_down(x).data()), "");
  EXPECT_EQ(difference(warp(x, Transform2D::translation(-3, -2), {.height = 5, .width = 7}).data(),
                       crop(x, 2, 3, 5, 7).data()),
            "");
  EXPECT_EQ(difference(warp(x, Transform2D()).data(), x.data()), "");
}

TEST(Warp, HasGradients) {
  const TensorData x = numbers_of({2, 1, 4, 5});
  for (int border = 0; border < 5; ++border)
    expect_gradients(x, [&](const Value& v) {
      return warp(v, Transform2D::rotation(20, {2, 2}), {.border = static_cast<Border>(border)});
    });
  TensorData matrices = numbers_of({2, 3, 3}, -0.1, 0.1);
  for (std::size_t i = 0; i < 18; i += 4) matrices.as<double>()[i] += i == 8 ? 0 : 1;
  for (const Border border : {Border::Replicate, Border::Constant})
    expect_gradients(
        matrices, [&](const Value& v) { return warp(from_data(x, test::cpu), v, {.border = border}); }, 1e-4);
}

TEST(Resize, IsOpenCvs) {
  struct Case {
    std::int64_t height, width;
    Interpolation mode;
  };
  const Case cases[] = {{26, 31, Interpolation::Linear},
                        {7, 9, Interpolation::Linear},
                        {26, 34, Interpolation::Nearest},
                        {20, 25, Interpolation::Cubic}};
  for (int i = 0; i < 4; ++i) {
    const auto resized = [&](const Value& x) { return resize(x, cases[i].height, cases[i].width, {cases[i].mode}); };
    expect_near(resized(stored_value("bytes")), text("resize.bytes.", i),
                cases[i].mode == Interpolation::Nearest ? 0 : 1);
    expect_near(resized(stored_value("floats")), text("resize.floats.", i), 2e-6);
  }
  const auto means = [](const std::string& kind) {
    return resize(crop(stored_value(kind), 0, 0, 12, 16), 6, 4, {Interpolation::Area});
  };
  expect_near(means("bytes"), "resize.bytes.area", 1);
  expect_near(means("floats"), "resize.floats.area", 1e-6);
}

TEST(Resize, TakesOnePixelAndSaysWhatIsWrong) {
  EXPECT_EQ(resize(bytes(1, 1, {9}), 5, 4).data().to_vector<int>(), std::vector(20, 9));
  EXPECT_EQ(warp(bytes(1, 1, {9}), Transform2D::translation(4, 4), {.border = Border::Reflect101}).item(), 9);
  EXPECT_EQ(sentence_of([] { return resize(zeros({1, 1, 0, 3}, test::cpu), 2, 2); }),
            "ShapeError: resize: pictures [1, 1, 0, 3] have no pixels to read");
  EXPECT_EQ(sentence_of([] { return resize(bytes(1, 1, {9}), 0, 3); }),
            "ArgumentError: resize: a picture of 0 x 3 pixels; sides are 1 to 16777216");
  EXPECT_EQ(sentence_of([] { return centre_crop(bytes(1, 1, {9}), 2, 1); }),
            "ShapeError: centre_crop: 2 x 1 pixels do not lie in pictures [1, 1, 1, 1]");
  EXPECT_EQ(sentence_of([] { return warp(bytes(1, 1, {9}), Transform2D(), {.mode = Interpolation::Lanczos3}); }),
            "ArgumentError: warp: pictures are warped by the modes Nearest, Linear and Cubic");
  EXPECT_EQ(sentence_of([] { return warp(bytes(1, 1, {9}), zeros({2, 3, 3}, test::cpu)); }),
            "ShapeError: warp: matrices are [batch, 3, 3] or [1, 3, 3], got [2, 3, 3] for pictures [1, 1, 1, 1]");
}

}  // namespace
}  // namespace kiln::vision
