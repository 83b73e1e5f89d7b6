// Morphology beside OpenCV's.
#include "kiln/vision/morphology.hpp"

#include "tests/vision/figures.hpp"

namespace kiln::vision {
namespace {

TEST(StructuringElement, IsOpenCvs) {
  constexpr std::pair<int, int> kSizes[] = {{3, 3}, {5, 5}, {5, 7}, {9, 5}, {4, 6}, {7, 2}};
  for (const auto& [rows, columns] : kSizes) {
    const auto expect = [&](const StructuringElement& element, const std::string& shape) {
      const std::string name = text("element.", shape, ".", rows, "x", columns);
      EXPECT_EQ(element.cells, stored(name).to_vector<std::uint8_t>()) << name;
    };
    expect(rectangle(rows, columns), "rectangle");
    expect(cross(rows, columns), "cross");
    expect(ellipse(rows, columns), "ellipse");
  }
}

TEST(Morphology, IsOpenCvs) {
  const StructuringElement own{.rows = 2, .columns = 4, .cells = {1, 0, 0, 1, 0, 1, 1, 0}};
  StructuringElement moved = own;
  moved.row = 1;
  moved.column = 0;
  const std::function<Value(const Value&)> cases[] = {
      [](const Value& x) { return erode(x, rectangle(3, 5)); },
      [](const Value& x) { return dilate(x, rectangle(3, 5)); },
      [](const Value& x) { return erode(x, cross(3, 3), {.iterations = 2}); },
      [](const Value& x) { return dilate(x, ellipse(5, 7)); },
      [&](const Value& x) { return erode(x, own); },
      [&](const Value& x) { return dilate(x, moved); },
      [](const Value& x) { return erode(x, ellipse(5, 7), {.border = Border::Reflect}); },
      [](const Value& x) { return dilate(x, cross(3, 3), {.value = 200}); },
      [](const Value& x) { return erode(x, rectangle(19, 25)); },
      [](const Value& x) { return morphological_open(x, cross(3, 3)); },
      [](const Value& x) { return morphological_close(x, ellipse(5, 7)); },
      [](const Value& x) { return morphological_gradient(x, rectangle(3, 5)); },
      [](const Value& x) { return top_hat(x, cross(3, 3)); },
      [](const Value& x) { return black_hat(x, cross(3, 3)); }};
  for (int i = 0; i < 14; ++i) expect_case("morphology", i, 0, cases[i]);
}

TEST(Morphology, IsOfAllTypes) {
  const Value bytes = stored_value("bytes"), mask = gt(bytes, 128);
  EXPECT_EQ(difference(erode(mask, rectangle(3, 5)).data(), gt(erode(bytes, rectangle(3, 5)), 128).data()), "");
  EXPECT_EQ(difference(top_hat(mask, cross(3, 3)).data(),
                       logical_and(mask, logical_not(morphological_open(mask, cross(3, 3)))).data()),
            "");
  const Value dilated = stored_value("morphology.bytes.3");
  for (const DType dtype : {DType::I16, DType::U16, DType::I32, DType::U32, DType::I64, DType::U64})
    EXPECT_EQ(difference(dilate(cast(bytes, dtype), ellipse(5, 7)).data(), cast(dilated, dtype).data()), "")
        << name(dtype);
  const Value halves = cast(stored_value("floats"), DType::F16);
  EXPECT_EQ(
      difference(erode(halves, rectangle(3, 5)).data(), cast(stored_value("morphology.floats.0"), DType::F16).data()),
      "");
}

TEST(Morphology, HasGradients) {
  const TensorData x = numbers_of({1, 2, 4, 5});
  expect_gradients(x, [](const Value& v) { return erode(v, ellipse(3, 3)); });
  expect_gradients(x, [](const Value& v) { return black_hat(v, rectangle(3, 2)); });
}

TEST(Morphology, TakesPicturesOfOnePixelAndOfNone) {
  EXPECT_EQ(dilate(bytes(1, 1, {3}), rectangle(99, 1)).item(), 3);
  EXPECT_EQ(erode(zeros({1, 1, 0, 7}, test::cpu), cross(3, 3)).shape(), (Shape{1, 1, 0, 7}));
}

TEST(Morphology, SaysWhatIsWrong) {
  const Value x = stored_value("bytes");
  EXPECT_EQ(sentence_of([&] { return rectangle(0, 3); }),
            "ArgumentError: rectangle: a structuring element of 0 x 3 cells; it has 1 to 4194304");
  EXPECT_EQ(sentence_of([&] { return erode(x, {.rows = 2, .columns = 2, .cells = {0, 0, 0, 0}}); }),
            "ArgumentError: erode: no cell of the structuring element counts");
  EXPECT_EQ(sentence_of([&] { return erode(x, {.rows = 2, .columns = 2, .cells = {1}}); }),
            "ArgumentError: erode: a structuring element of 2 x 2 has 1 cells");
  EXPECT_EQ(sentence_of([&] { return dilate(x, {.rows = 1, .columns = 1, .cells = {1}, .row = 1}); }),
            "ArgumentError: dilate: the pixel's own cell (1, 0) is outside of 1 x 1");
  EXPECT_EQ(sentence_of([&] { return dilate(x, cross(3, 3), {.iterations = -1}); }),
            "ArgumentError: dilate: -1 iterations; there are 0 to 1000");
  EXPECT_EQ(sentence_of([&] { return top_hat(at(x, 0, 0), cross(3, 3)); }),
            "ShapeError: top_hat: pictures are [batch, channels, height, width], got [3, 13, 17]");
}

}  // namespace
}  // namespace kiln::vision
