// Filters beside OpenCV's.
#include "kiln/vision/filter.hpp"

#include <array>

#include "tests/vision/figures.hpp"

namespace kiln::vision {
namespace {

constexpr double kRounding = 2e-6;

TEST(Border, IsWhatOpenCvMakes) {
  for (int i = 0; i < 5; ++i) {
    const std::string number = std::to_string(i);
    const Border border = static_cast<Border>(i);
    expect_same(make_border(stored_value("bytes"), {2, 3, 1, 4}, border, 9), "border." + number);
    expect_same(make_border(stored_value("small"), {11, 20, 13, 9}, border, 9), "border.far." + number);
  }
}

TEST(Filter, Correlates) {
  const Value kernel = stored_value("filter2d.kernel"), even = stored_value("filter2d.even");
  for (int i = 0; i < 4; ++i)
    expect_case("filter2d", i, 1e-5,
                [&](const Value& x) { return filter2d(x, kernel, {.border = static_cast<Border>(i), .delta = 3}); });
  expect_case("filter2d", 4, 1e-5, [&](const Value& x) { return filter2d(x, even); });
  expect_case("separable", 0, kRounding, [](const Value& x) {
    return separable_filter(x, std::array{0.25, 0.5, 0.375}, std::array{-0.5, 1.0, 0.25, 0.5, 0.125});
  });
}

TEST(Filter, BlursByBoxes) {
  struct Case {
    std::int64_t rows, columns;
    Border border;
  };
  const Case cases[] = {
      {3, 5, Border::Reflect101}, {1, 7, Border::Replicate}, {21, 11, Border::Reflect}, {3, 3, Border::Constant}};
  for (int i = 0; i < 4; ++i)
    expect_case("box", i, kRounding, [&](const Value& x) {
      return box_blur(x, cases[i].rows, cases[i].columns, {.border = cases[i].border});
    });
}

TEST(Filter, BlursByGaussians) {
  const GaussianBlur cases[] = {
      {.rows = 5, .columns = 5, .sigma_down = 1.2, .sigma_across = 1.2},
      {.rows = 7, .columns = 3, .sigma_down = 2, .sigma_across = 0.7, .border = Border::Replicate},
      {.sigma_down = 1.5, .sigma_across = 1.5, .border = Border::Reflect},
      {.sigma_down = 4, .sigma_across = 4, .border = Border::Constant}};
  for (int i = 0; i < 4; ++i)
    expect_case("gaussian", i, kRounding, [&](const Value& x) { return gaussian_blur(x, cases[i]); });
}

TEST(Filter, TakesMedians) {
  for (int i = 0; i < 2; ++i) expect_case("median", i, 0, [&](const Value& x) { return median_blur(x, 3 + 2 * i); });
  expect_same(median_blur(stored_value("bytes"), 7), "median.bytes.2");
  expect_same(median_blur(stored_value("bytes"), 11), "median.bytes.3");
}

TEST(Filter, KeepsEdgesBilaterally) {
  for (const bool floats : {false, true}) {
    const std::string kind = floats ? "floats" : "bytes";
    const double tolerance = floats ? kRounding : 1;
    const Value x = stored_value(kind);
    const BilateralBlur first{.radius = 2, .sigma_colour = floats ? 0.3 : 40, .sigma_space = 2};
    const Value alone = reshape(x, {6, 1, 13, 17});
    expect_near(reshape(bilateral_blur(alone, first), {2, 3, 13, 17}), "bilateral." + kind + ".0", tolerance);
    const BilateralBlur second{
        .radius = 3, .sigma_colour = first.sigma_colour, .sigma_space = 1.5, .border = Border::Replicate};
    expect_near(bilateral_blur(x, second), "bilateral." + kind + ".1", tolerance);
  }
}

TEST(Filter, TakesOtherTypes) {
  const Value x = stored_value("bytes");
  for (const DType dtype : {DType::U16, DType::I16, DType::I32, DType::I64, DType::F16, DType::F64}) {
    const Value blurred = box_blur(cast(x, dtype), 3, 5);
    EXPECT_EQ(blurred.dtype(), dtype);
    expect_near(blurred, "box.bytes.0", dtype == DType::F16 || dtype == DType::F64 ? 0.51 : 0);
  }
}

TEST(Filter, HasGradients) {
  const TensorData x = numbers_of({1, 2, 4, 5});
  const TensorData kernel = numbers_of({3, 2});
  expect_gradients(
      x, [&](const Value& v) { return filter2d(v, from_data(kernel, test::cpu), {.border = Border::Reflect}); });
  expect_gradients(kernel, [&](const Value& v) { return filter2d(from_data(x, test::cpu), v); });
  expect_gradients(x, [](const Value& v) { return gaussian_blur(v, {.rows = 3, .columns = 3}); });
  expect_gradients(x, [](const Value& v) { return box_blur(v, 3, 4, {.border = Border::Wrap}); });
  expect_gradients(x, [](const Value& v) { return median_blur(v, 3); });
  expect_gradients(x, [](const Value& v) { return bilateral_blur(v, {.radius = 1, .sigma_colour = 0.5}); });
  expect_gradients(numbers_of({1, 1, 3, 3}), [](const Value& v) { return median_blur(v, 11); });
}

TEST(Filter, TakesPicturesOfOnePixelAndOfNone) {
  const Value one = bytes(1, 1, {7});
  EXPECT_EQ(box_blur(one, 31, 5).item(), 7);
  EXPECT_EQ(median_blur(one, 9).item(), 7);
  EXPECT_EQ(gaussian_blur(one, {.rows = 41, .columns = 41}).item(), 7);
  EXPECT_EQ(bilateral_blur(one, {.radius = 5}).item(), 7);
  for (const Shape& shape : {Shape{0, 1, 4, 4}, Shape{2, 3, 0, 5}, Shape{2, 0, 5, 5}}) {
    const Value none = zeros(shape, test::cpu);
    EXPECT_EQ(filter2d(none, ones({3, 3}, test::cpu)).shape(), shape);
    EXPECT_EQ(box_blur(none, 3, 3).shape(), shape);
    EXPECT_EQ(median_blur(none, 3).shape(), shape);
    EXPECT_EQ(bilateral_blur(none, {}).shape(), shape);
  }
}

TEST(Filter, SaysWhatIsWrong) {
  const Value x = stored_value("bytes");
  EXPECT_EQ(sentence_of([&] { return box_blur(x, 0, 3); }),
            "ArgumentError: box_blur: a kernel of 0 x 3 elements; sizes are 1 to 1048575");
  EXPECT_EQ(sentence_of([&] { return median_blur(x, 4); }),
            "ArgumentError: median_blur: the size 4 must be odd and from 1 to 63");
  EXPECT_EQ(sentence_of([&] { return gaussian_blur(x, {.rows = 4, .columns = 3}); }),
            "ArgumentError: gaussian_blur: the size 4 must be odd, positive and below 1048576");
  EXPECT_EQ(sentence_of([&] { return gaussian_blur(x, {}); }),
            "ArgumentError: gaussian_blur: a size or a sigma must be given, both along each axis");
  EXPECT_EQ(sentence_of([&] { return box_blur(x, 3, 3, {.border = static_cast<Border>(9)}); }),
            "ArgumentError: box_blur: there is no border of number 9");
  EXPECT_EQ(sentence_of([&] { return box_blur(reshape(x, {6, 13, 17}), 3, 3); }),
            "ShapeError: box_blur: pictures are [batch, channels, height, width], got [6, 13, 17]");
  EXPECT_EQ(sentence_of([&] { return box_blur(gt(x, 3), 3, 3); }),
            "DTypeError: box_blur: needs pictures of floats or integers, got booleans; cast them to uint8");
  EXPECT_EQ(sentence_of([&] { return make_border(zeros({1, 1, 0, 3}, test::cpu), {1, 0, 0, 0}, Border::Wrap); }),
            "ShapeError: make_border: pictures [1, 1, 0, 3] have no pixels to repeat; use a constant border");
  EXPECT_EQ(sentence_of([&] { return bilateral_blur(x, {.sigma_colour = -1}); }),
            "ArgumentError: bilateral_blur: sigma_colour = -1 and sigma_space = 2 must be positive");
}

}  // namespace
}  // namespace kiln::vision
