// Derivatives and edges beside OpenCV's.
#include "kiln/vision/edges.hpp"

#include "tests/vision/figures.hpp"

namespace kiln::vision {
namespace {

/// Sums of float32, which of bytes are exact.
void expect_derivative(const std::string& function, int i, const std::function<Value(const Value&)>& f) {
  expect_near(f(stored_value("bytes")), function + ".bytes." + std::to_string(i), 0);
  expect_near(f(stored_value("floats")), function + ".floats." + std::to_string(i), 5e-4);
}

TEST(Edges, AreDerivatives) {
  const Derivative cases[] = {{.across = 1, .down = 0, .size = 3}, {.across = 0, .down = 1, .size = 3},
                              {.across = 1, .down = 1, .size = 3}, {.across = 2, .down = 0, .size = 5},
                              {.across = 0, .down = 1, .size = 7}, {.across = 1, .down = 0, .size = 1},
                              {.across = 0, .down = 2, .size = 1}};
  for (int i = 0; i < 7; ++i) expect_derivative("sobel", i, [&](const Value& x) { return sobel(x, cases[i]); });
  expect_derivative("scharr", 0, [](const Value& x) { return scharr(x, {.scale = 0.5}); });
  expect_derivative("scharr", 1, [](const Value& x) { return scharr(x, {.across = 0, .down = 1}); });
  for (int i = 0; i < 3; ++i)
    expect_derivative("laplacian", i, [&](const Value& x) { return laplacian(x, {.size = 1 + 2 * i}); });
}

TEST(Edges, OfCannyAreOpenCvsToTheBit) {
  const Canny cases[] = {{.low = 50, .high = 100},
                         {.low = 100, .high = 300, .squares = true},
                         {.low = 900, .high = 2500, .size = 5},
                         {.low = 120, .high = 400}};
  for (int i = 0; i < 4; ++i) {
    const Value edges = canny(stored_value("canny.picture"), cases[i]);
    expect_same(edges, "canny." + std::to_string(i));
    EXPECT_GT(sum(edges).item(), 20) << "case " << i;
  }
}

TEST(Edges, OfABatchAreThoseOfEachPicture) {
  const Value x = stored_value("canny.picture"), y = flip(x, {3});
  const Value both = canny(cat(Values{x, y}, 0), {});
  EXPECT_EQ(difference(narrow(both, 0, 1, 1).data(), canny(y, {}).data()), "");
}

TEST(Edges, HaveGradients) {
  const TensorData x = numbers_of({1, 1, 4, 5});
  expect_gradients(x, [](const Value& v) { return sobel(v, {.size = 5}); });
  expect_gradients(x, [](const Value& v) { return scharr(v); });
  expect_gradients(x, [](const Value& v) { return laplacian(v, {.size = 3, .border = Border::Constant}); });
}

TEST(Edges, OfPicturesOfOnePixelOrNoneAreNone) {
  EXPECT_EQ(canny(bytes(1, 1, {255})).item(), 0);
  EXPECT_EQ(sobel(bytes(1, 1, {255})).item(), 0);
  EXPECT_EQ(canny(zeros({2, 1, 0, 4}, test::cpu)).shape(), (Shape{2, 1, 0, 4}));
}

TEST(Edges, SayWhatIsWrong) {
  const Value x = stored_value("bytes");
  EXPECT_EQ(sentence_of([&] { return canny(x); }), "ShapeError: canny: needs 1 channel, got pictures [2, 3, 13, 17]");
  EXPECT_EQ(sentence_of([&] { return canny(narrow(x, 1, 0, 1), {.low = 5, .high = 2}); }),
            "ArgumentError: canny: low = 5 and high = 2 must be in order, from 0 on");
  EXPECT_EQ(sentence_of([&] { return sobel(x, {.across = 2, .down = 1}); }),
            "ArgumentError: sobel: derivatives of order 2 across and 1 down; together 1 or 2 are possible");
  EXPECT_EQ(sentence_of([&] { return sobel(x, {.size = 4}); }),
            "ArgumentError: sobel: the size 4 is none of 1, 3, 5 and 7");
  EXPECT_EQ(sentence_of([&] { return scharr(x, {.across = 1, .down = 1}); }),
            "ArgumentError: scharr: derivatives of order 1 across and 1 down; one of them is 1, the other 0");
}

}  // namespace
}  // namespace kiln::vision
