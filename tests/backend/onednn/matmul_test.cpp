#include <gtest/gtest.h>

#include "kiln/backend/cpu/onednn/onednn.hpp"

#include "tests/backend/arrays.hpp"

namespace kiln::cpu {
namespace {

Value multiply(const Value& a, const Value& b) {
  const Value in[] = {a, b};
  const Descs desc = op::Matmul{}.infer(in);
  Value out = tensor(desc[0].shape, desc[0].dtype);
  EXPECT_TRUE(onednn::run(op::Matmul{}, {in, {&out, 1}}));
  return out;
}

void check(const Value& a, const Value& b, double tolerance = 1e-6) {
  const Value c = multiply(a, b);
  EXPECT_LT(distance(numbers(c), product(a, b, c.shape())), tolerance) << text(a, " x ", b);
}

TEST(OneDnnMatmul, MultipliesMatricesOfAnySizeAndOrder) {
  const std::vector<int> orders[] = {{0, 1}, {1, 0}};
  for (const auto& [m, n, k] : std::initializer_list<std::array<std::int64_t, 3>>{{1, 1, 1},
                                                                                  {1, 5, 1},
                                                                                  {5, 1, 3},
                                                                                  {3, 4, 5},
                                                                                  {1, 300, 64},
                                                                                  {17, 1, 400},
                                                                                  {33, 47, 129},
                                                                                  {64, 512, 1024},
                                                                                  {130, 390, 70},
                                                                                  {300, 96, 257}})
    for (const auto& order_a : orders)
      for (const auto& order_b : orders) check(random_tensor({m, k}, 1, order_a), random_tensor({k, n}, 2, order_b));
}

TEST(OneDnnMatmul, ReadsPartsOfLargerMatricesInPlace) {
  const Value big = random_tensor({40, 60}, 3);
  const Value part = view_of(big, {20, 30}, {60, 1}, 60 * 5 + 7);
  check(part, view_of(big, {30, 20}, {1, 60}, 60 * 5 + 7));
  check(part, random_tensor({30, 9}, 4));
}

TEST(OneDnnMatmul, CopiesWhatItCannotReadInPlace) {
  const Value big = random_tensor({40, 60}, 5);
  check(view_of(big, {20, 30}, {120, 2}), random_tensor({30, 8}, 6));                   // every other row and column
  check(view_of(big, {40, 60}, {-60, 1}, 39 * 60), random_tensor({60, 8}, 7));          // rows from last to first
  check(view_of(random_tensor({60}, 8), {40, 60}, {0, 1}), random_tensor({60, 8}, 9));  // one row, forty times
  check(view_of(random_tensor({60}, 8), {60, 40}, {1, 0}), random_tensor({40, 8}, 9));
  check(view_of(random_tensor({1}, 8), {6, 7}, {0, 0}), random_tensor({7, 8}, 9));
  check(view_of(random_tensor({90}, 8), {30, 60}, {1, 1}), random_tensor({60, 8}, 9));  // a window that slides
}

TEST(OneDnnMatmul, BroadcastsBatchDimensions) {
  for (const auto& [a, b] : std::initializer_list<std::pair<Shape, Shape>>{{{5, 3, 4}, {5, 4, 6}},
                                                                           {{5, 3, 4}, {4, 6}},
                                                                           {{3, 4}, {5, 4, 6}},
                                                                           {{5, 1, 3, 4}, {7, 4, 6}},
                                                                           {{5, 7, 3, 4}, {5, 1, 4, 6}},
                                                                           {{1, 3, 4}, {1, 1, 4, 6}},
                                                                           {{2, 3, 1, 5, 4}, {3, 6, 4, 2}},
                                                                           {{9, 1, 4}, {4, 6}},
                                                                           {{9, 1, 4}, {9, 4, 1}},
                                                                           {{96, 64, 32}, {96, 32, 64}},
                                                                           {{8, 200, 40}, {40, 120}},
                                                                           {{3, 300, 130}, {3, 130, 260}}})
    check(random_tensor(a, 10), random_tensor(b, 11));
}

TEST(OneDnnMatmul, ReadsAttentionHeadsInPlace) {
  // [batch, time, heads, width] seen as [batch, heads, time, width], and its transpose.
  const Value q = random_tensor({3, 4, 17, 8}, 12, {0, 2, 1, 3}), k = random_tensor({3, 4, 8, 17}, 13, {0, 3, 1, 2});
  check(q, k);
  check(random_tensor({3, 4, 17, 17}, 14), q);
  check(random_tensor({6, 5, 7}, 15, {1, 0, 2}), random_tensor({6, 7, 5}, 16, {2, 1, 0}));
}

TEST(OneDnnMatmul, CopesWithBatchesThatOverlapOrRunBackwards) {
  const Value line = random_tensor({200}, 17);
  check(view_of(line, {6, 5, 7}, {3, 7, 1}), random_tensor({6, 7, 4}, 18));
  check(view_of(line, {6, 5, 7}, {-10, 7, 1}, 60), random_tensor({6, 7, 4}, 18));
  check(view_of(line, {6, 5, 7}, {0, 7, 1}), random_tensor({6, 7, 4}, 18));
  check(view_of(line, {6, 1, 7}, {3, 7, 1}), random_tensor({7, 4}, 18));
}

TEST(OneDnnMatmul, GivesZerosForAnEmptySum) {
  EXPECT_EQ(numbers(multiply(random_tensor({2, 0}, 19), random_tensor({0, 3}, 20))), std::vector<double>(6, 0.0));
}

TEST(OneDnnMatmul, GivesEmptyResultsForEmptyOperands) {
  EXPECT_EQ(multiply(random_tensor({0, 4}, 21), random_tensor({4, 3}, 22)).shape(), (Shape{0, 3}));
  EXPECT_EQ(multiply(random_tensor({2, 4}, 21), random_tensor({4, 0}, 22)).shape(), (Shape{2, 0}));
  EXPECT_EQ(multiply(random_tensor({0, 2, 4}, 21), random_tensor({4, 3}, 22)).shape(), (Shape{0, 2, 3}));
}

TEST(OneDnnMatmul, MultipliesHalfTypes) {
  for (const DType dtype : {DType::BF16, DType::F16}) {
    const auto half = [&](const Shape& shape, unsigned seed, std::vector<int> order = {}) {
      return random_tensor(shape, seed, std::move(order), dtype);
    };
    const double rounding = dtype == DType::BF16 ? 1.0 / 256 : 1.0 / 2048;
    check(half({3, 4}, 23), half({4, 5}, 24), rounding);
    check(half({130, 70}, 23), half({70, 390}, 24, {1, 0}), rounding);
    check(half({9, 30, 40}, 23), half({9, 40, 50}, 24, {2, 0, 1}), rounding);
    check(half({1, 512}, 23), half({512, 10}, 24), rounding);
    check(view_of(half({40, 60}, 23), {20, 30}, {120, 2}), half({30, 9}, 24), rounding);
  }
}

TEST(OneDnnMatmul, LeavesOtherTypesToTheReference) {
  const Value in[] = {tensor({2, 2}, DType::F64), tensor({2, 2}, DType::F64)};
  Value out = tensor({2, 2}, DType::F64);
  EXPECT_FALSE(onednn::run(op::Matmul{}, {in, {&out, 1}}));
}

TEST(OneDnnMatmul, GivesTheSameBitsOnAnyNumberOfThreads) {
  expect_same_bits_on_any_threads({{random_tensor({512, 300}, 25), random_tensor({300, 500}, 26)},
                                   {random_tensor({64, 1024}, 25), random_tensor({1024, 512}, 26, {1, 0})},
                                   {random_tensor({1, 1000}, 25), random_tensor({1000, 900}, 26)},
                                   {random_tensor({50, 64, 65}, 25), random_tensor({50, 65, 66}, 26)}},
                                  multiply);
}

}  // namespace
}  // namespace kiln::cpu
