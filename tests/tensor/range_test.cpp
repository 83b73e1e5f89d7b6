// Indices and slices mean what they mean in Python; the texts are NumPy's for the same expressions.
#include "kiln/tensor/parts/range.hpp"

#include <gtest/gtest.h>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/text/format.hpp"

#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

Tensor<1, Int> line() { return arange(6, Device::best()); }
Tensor<3, Int> block() { return arange(24, Device::best()).reshape(2, 3, 4); }

TEST(Range, SlicesALineAsPythonDoes) {
  const auto v = line();
  EXPECT_EQ(to_text(v(s(1, 4))), "[1 2 3]");
  EXPECT_EQ(to_text(v(s(end, end))), "[0 1 2 3 4 5]");
  EXPECT_EQ(to_text(v(s(-2, end))), "[4 5]");
  EXPECT_EQ(to_text(v(s(end, -2))), "[0 1 2 3]");
  EXPECT_EQ(to_text(v(s(0, 6, 2))), "[0 2 4]");
  EXPECT_EQ(to_text(v(s(1, 100, 3))), "[1 4]");
  EXPECT_EQ(to_text(v(s({}, {}, -1))), "[5 4 3 2 1 0]");
  EXPECT_EQ(to_text(v(s(4, 1, -1))), "[4 3 2]");
  EXPECT_EQ(to_text(v(s(-1, -100, -2))), "[5 3 1]");
  EXPECT_EQ(to_text(v(s({}, 2, -1))), "[5 4 3]");
  EXPECT_EQ(to_text(v(s(100, end))), "[]");
  EXPECT_EQ(to_text(v(s(-100, 2))), "[0 1]");
  EXPECT_EQ(to_text(v(s(3, 3))), "[]");
  EXPECT_EQ(to_text(v(s(2, 4, -1))), "[]");
  EXPECT_EQ(to_text(v(-1)), "5");
}

TEST(Range, IndicesDropDimensionsAndSlicesKeepThem) {
  const auto x = block();
  EXPECT_EQ(to_text(x(0)),
            "[[ 0  1  2  3]\n"
            " [ 4  5  6  7]\n"
            " [ 8  9 10 11]]");
  EXPECT_EQ(to_text(x(-1, 2)), "[20 21 22 23]");
  EXPECT_EQ(to_text(x(1, 0, 3)), "15");
  EXPECT_EQ(to_text(x(s(), 1)),
            "[[ 4  5  6  7]\n"
            " [16 17 18 19]]");
  EXPECT_EQ(to_text(x(ellipsis, -1)),
            "[[ 3  7 11]\n"
            " [15 19 23]]");
  EXPECT_EQ(to_text(x(0, ellipsis, s(1, 3))),
            "[[ 1  2]\n"
            " [ 5  6]\n"
            " [ 9 10]]");
  EXPECT_EQ(to_text(x(ellipsis)),
            "[[[ 0  1  2  3]\n"
            "  [ 4  5  6  7]\n"
            "  [ 8  9 10 11]]\n"
            "\n"
            " [[12 13 14 15]\n"
            "  [16 17 18 19]\n"
            "  [20 21 22 23]]]");
  EXPECT_EQ(to_text(x(1, ellipsis, 1, 1)), "17");
  EXPECT_EQ(to_text(x(s(0, 2), s(), -1)),
            "[[ 3  7 11]\n"
            " [15 19 23]]");
  EXPECT_EQ(to_text(x(s({}, {}, -1), 1, s({}, {}, -3))),
            "[[19 16]\n"
            " [ 7  4]]");
  EXPECT_EQ(to_text(x(0, s(5, end))), "[]");
}

TEST(Range, TheRankIsKnownAtCompileTime) {
  const auto x = block();
  static_assert(std::is_same_v<decltype(x(0)), Tensor<2, Int>>);
  static_assert(std::is_same_v<decltype(x(s(), 1, ellipsis)), Tensor<2, Int>>);
  static_assert(std::is_same_v<decltype(x(0, 0, 0)), Tensor<0, Int>>);
  static_assert(std::is_same_v<decltype(x(s(0, 1), s(), s())), Tensor<3, Int>>);
  EXPECT_EQ(x(0, 0, 0).item(), 0);
}

TEST(Range, AssignReplacesWhatTheIndexNames) {
  const auto device = Device::best();
  const auto x = block();
  const auto w2 = Tensor<2, Int>::of({{-1, -2, -3}}, device), w22 = Tensor<2, Int>::of({{-1, -2}, {-3, -4}}, device);
  const auto w21 = Tensor<2, Int>::of({{-1}, {-2}, {-3}}, device);
  const auto w3 = Tensor<1, Int>::of({-1, -2, -3}, device), w4 = Tensor<1, Int>::of({-1, -2, -3, -4}, device);
  EXPECT_EQ(to_text(x.assign(-1, 0)),
            "[[[-1 -1 -1 -1]\n"
            "  [-1 -1 -1 -1]\n"
            "  [-1 -1 -1 -1]]\n"
            "\n"
            " [[12 13 14 15]\n"
            "  [16 17 18 19]\n"
            "  [20 21 22 23]]]");
  EXPECT_EQ(to_text(x.assign(w3, s(), 1, s(0, 3))),
            "[[[ 0  1  2  3]\n"
            "  [-1 -2 -3  7]\n"
            "  [ 8  9 10 11]]\n"
            "\n"
            " [[12 13 14 15]\n"
            "  [-1 -2 -3 19]\n"
            "  [20 21 22 23]]]");
  EXPECT_EQ(to_text(x.assign(w2, ellipsis, -1)),
            "[[[ 0  1  2 -1]\n"
            "  [ 4  5  6 -2]\n"
            "  [ 8  9 10 -3]]\n"
            "\n"
            " [[12 13 14 -1]\n"
            "  [16 17 18 -2]\n"
            "  [20 21 22 -3]]]");
  EXPECT_EQ(to_text(x.assign(w4, 1)),
            "[[[ 0  1  2  3]\n"
            "  [ 4  5  6  7]\n"
            "  [ 8  9 10 11]]\n"
            "\n"
            " [[-1 -2 -3 -4]\n"
            "  [-1 -2 -3 -4]\n"
            "  [-1 -2 -3 -4]]]");
  EXPECT_EQ(to_text(x.assign(w21, 0, s({}, {}, -1), s(3, end))),
            "[[[ 0  1  2 -3]\n"
            "  [ 4  5  6 -2]\n"
            "  [ 8  9 10 -1]]\n"
            "\n"
            " [[12 13 14 15]\n"
            "  [16 17 18 19]\n"
            "  [20 21 22 23]]]");
  EXPECT_EQ(to_text(x.assign(99, 1, 2, 3)),
            "[[[ 0  1  2  3]\n"
            "  [ 4  5  6  7]\n"
            "  [ 8  9 10 11]]\n"
            "\n"
            " [[12 13 14 15]\n"
            "  [16 17 18 19]\n"
            "  [20 21 22 99]]]");
  EXPECT_EQ(to_text(x.assign(w22, s(), s(1, end), 0)),
            "[[[ 0  1  2  3]\n"
            "  [-1  5  6  7]\n"
            "  [-2  9 10 11]]\n"
            "\n"
            " [[12 13 14 15]\n"
            "  [-3 17 18 19]\n"
            "  [-4 21 22 23]]]");
  EXPECT_EQ(to_text(x(0, 0)), "[0 1 2 3]") << "a tensor never changes";
}

TEST(Range, GradientsOfASliceAndOfWhatItReplaces) {
  const auto device = Device::best().autodiff();
  const auto x = zeros({3, 2}, device).require_grad();
  const auto value = zeros({2}, device).require_grad();
  const auto weights = Tensor<2>::of({{1, 2}, {3, 4}, {5, 6}}, device);
  const auto grads = (x.assign(value, s(0, 3, 2), 1) * weights).sum().backward();
  EXPECT_EQ(to_text(grads.of(x)), "[[1. 0.]\n [3. 4.]\n [5. 0.]]");
  EXPECT_EQ(to_text(grads.of(value)), "[2. 6.]");
  EXPECT_EQ(to_text(x(s({}, {}, -2), 1).sum().backward().of(x)), "[[0. 1.]\n [0. 0.]\n [0. 1.]]");
}

TEST(Range, WorksAtRunTimeRank) {
  const Value x = block().value();
  const IndexEntry entries[] = {1, ellipsis, s(0, 2)};
  EXPECT_EQ(to_text(index(x, entries)), "[[12 13]\n [16 17]\n [20 21]]");
  const IndexEntry many[] = {0, 0, 0, 0};
  EXPECT_EQ(sentence_of([&] { return index(x, many); }), "IndexError: slice: 4 indices for int64 [2, 3, 4]");
}

}  // namespace
}  // namespace kiln
