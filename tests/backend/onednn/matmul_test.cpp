#include <gtest/gtest.h>

#include "kiln/backend/cpu/onednn/onednn.hpp"

#include "tests/backend/arrays.hpp"

namespace kiln::cpu {
namespace {

Value numbers_in(const Shape& shape, unsigned seed, std::vector<int> order = {}, DType dtype = DType::BF16) {
  return random_tensor(shape, seed, std::move(order), dtype);
}

Value multiply(const Value& a, const Value& b) {
  const Value in[] = {a, b};
  const Descs desc = op::Matmul{}.infer(in);
  Value out = tensor(desc[0].shape, desc[0].dtype);
  EXPECT_TRUE(onednn::run(op::Matmul{}, {in, {&out, 1}}));
  return out;
}

void check(const Value& a, const Value& b, double rounding = 1.0 / 256) {
  const Value c = multiply(a, b);
  EXPECT_LT(distance(numbers(c), product(a, b, c.shape())), rounding) << text(a, " x ", b);
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
      for (const auto& order_b : orders) check(numbers_in({m, k}, 1, order_a), numbers_in({k, n}, 2, order_b));
}

TEST(OneDnnMatmul, ReadsPartsOfLargerMatricesInPlace) {
  const Value big = numbers_in({40, 60}, 3);
  const Value part = view_of(big, {20, 30}, {60, 1}, 60 * 5 + 7);
  check(part, view_of(big, {30, 20}, {1, 60}, 60 * 5 + 7));
  check(part, numbers_in({30, 9}, 4));
}

TEST(OneDnnMatmul, CopiesWhatItCannotReadInPlace) {
  const Value big = numbers_in({40, 60}, 5);
  check(view_of(big, {20, 30}, {120, 2}), numbers_in({30, 8}, 6));                // every other row and column
  check(view_of(big, {40, 60}, {-60, 1}, 39 * 60), numbers_in({60, 8}, 7));       // rows from last to first
  check(view_of(numbers_in({60}, 8), {40, 60}, {0, 1}), numbers_in({60, 8}, 9));  // one row, forty times
  check(view_of(numbers_in({60}, 8), {60, 40}, {1, 0}), numbers_in({40, 8}, 9));
  check(view_of(numbers_in({1}, 8), {6, 7}, {0, 0}), numbers_in({7, 8}, 9));
  check(view_of(numbers_in({90}, 8), {30, 60}, {1, 1}), numbers_in({60, 8}, 9));  // a window that slides
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
    check(numbers_in(a, 10), numbers_in(b, 11));
}

TEST(OneDnnMatmul, ReadsAttentionHeadsInPlace) {
  // [batch, time, heads, width] seen as [batch, heads, time, width], and its transpose.
  const Value q = numbers_in({3, 4, 17, 8}, 12, {0, 2, 1, 3}), k = numbers_in({3, 4, 8, 17}, 13, {0, 3, 1, 2});
  check(q, k);
  check(numbers_in({3, 4, 17, 17}, 14), q);
  check(numbers_in({6, 5, 7}, 15, {1, 0, 2}), numbers_in({6, 7, 5}, 16, {2, 1, 0}));
}

TEST(OneDnnMatmul, CopesWithBatchesThatOverlapOrRunBackwards) {
  const Value line = numbers_in({200}, 17);
  check(view_of(line, {6, 5, 7}, {3, 7, 1}), numbers_in({6, 7, 4}, 18));
  check(view_of(line, {6, 5, 7}, {-10, 7, 1}, 60), numbers_in({6, 7, 4}, 18));
  check(view_of(line, {6, 5, 7}, {0, 7, 1}), numbers_in({6, 7, 4}, 18));
  check(view_of(line, {6, 1, 7}, {3, 7, 1}), numbers_in({7, 4}, 18));
}

TEST(OneDnnMatmul, GivesZerosForAnEmptySum) {
  EXPECT_EQ(numbers(multiply(numbers_in({2, 0}, 19), numbers_in({0, 3}, 20))), std::vector<double>(6, 0.0));
}

TEST(OneDnnMatmul, GivesEmptyResultsForEmptyOperands) {
  EXPECT_EQ(multiply(numbers_in({0, 4}, 21), numbers_in({4, 3}, 22)).shape(), (Shape{0, 3}));
  EXPECT_EQ(multiply(numbers_in({2, 4}, 21), numbers_in({4, 0}, 22)).shape(), (Shape{2, 0}));
  EXPECT_EQ(multiply(numbers_in({0, 2, 4}, 21), numbers_in({4, 3}, 22)).shape(), (Shape{0, 2, 3}));
}

TEST(OneDnnMatmul, MultipliesFloat16) {
  const auto half = [](const Shape& shape, unsigned seed, std::vector<int> order = {}) {
    return numbers_in(shape, seed, std::move(order), DType::F16);
  };
  constexpr double kRounding = 1.0 / 2048;
  check(half({3, 4}, 23), half({4, 5}, 24), kRounding);
  check(half({130, 70}, 23), half({70, 390}, 24, {1, 0}), kRounding);
  check(half({9, 30, 40}, 23), half({9, 40, 50}, 24, {2, 0, 1}), kRounding);
  check(half({1, 512}, 23), half({512, 10}, 24), kRounding);
  check(view_of(half({40, 60}, 23), {20, 30}, {120, 2}), half({30, 9}, 24), kRounding);
}

TEST(OneDnnMatmul, LeavesOtherTypesToOtherKernels) {
  for (const DType dtype : {DType::F32, DType::F64}) {
    const Value in[] = {tensor({2, 2}, dtype), tensor({2, 2}, dtype)};
    Value out = tensor({2, 2}, dtype);
    EXPECT_FALSE(onednn::run(op::Matmul{}, {in, {&out, 1}}));
  }
}

TEST(OneDnnMatmul, GivesTheSameBitsOnAnyNumberOfThreads) {
  expect_same_bits_on_any_threads({{numbers_in({512, 300}, 25), numbers_in({300, 500}, 26)},
                                   {numbers_in({64, 1024}, 25), numbers_in({1024, 512}, 26, {1, 0})},
                                   {numbers_in({1, 1000}, 25), numbers_in({1000, 900}, 26)},
                                   {numbers_in({50, 64, 65}, 25), numbers_in({50, 65, 66}, 26)}},
                                  multiply);
}

}  // namespace
}  // namespace kiln::cpu
