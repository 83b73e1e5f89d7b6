#include <gtest/gtest.h>

#include "kiln/backend/cpu/matmul/choose.hpp"
#include "kiln/backend/cpu/matmul/matmul.hpp"
#include "kiln/backend/cpu/onednn/onednn.hpp"

#include "tests/backend/products.hpp"

namespace kiln::cpu {
namespace {

Value numbers_in(const Shape& shape, unsigned seed, std::vector<int> order = {}, DType dtype = DType::BF16) {
  return random_tensor(shape, seed, std::move(order), dtype);
}

Value multiply(const Value& a, const Value& b) {
  const Value in[] = {a, b};
  const Descs desc = op::Matmul{}.infer(in);
  Value out = tensor(desc[0].shape, desc[0].dtype);
  disable(algorithms_in("amx_matmul,few_halves"));
  EXPECT_TRUE(matmul::run(op::Matmul{}, {in, {&out, 1}}));
  disable({});
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

TEST(OneDnnMatmul, ReadsRowsAndColumnsWithGaps) {
  const Value line = numbers_in({300}, 5);
  for (const std::int64_t step : {2, 3, 8})
    for (const std::int64_t k : {2, 7, 33}) {
      const Value row = view_of(line, {1, k}, {k * step, step}), column = view_of(line, {k, 1}, {step, k * step});
      for (const std::int64_t other : {1, 2, 17}) {
        check(row, numbers_in({k, other}, 6));
        check(row, numbers_in({k, other}, 6, {1, 0}));
        check(numbers_in({other, k}, 7), column);
        check(numbers_in({other, k}, 7, {1, 0}), column);
        check(view_of(line, {other, 1}, {step, 1}), numbers_in({1, k}, 8));
        check(numbers_in({k, 1}, 8), view_of(line, {1, other}, {1, step}));
      }
      check(row, column);
      check(view_of(line, {2, 1, k}, {9, k * step, step}), numbers_in({2, k, 4}, 9));
      check(numbers_in({2, 4, k}, 9), view_of(line, {2, k, 1}, {9, step, k * step}));
    }
}

TEST(OneDnnMatmul, CutsOffNoRowWithGaps) {
  for (const std::int64_t m : {33, 129, 225, 257, 449})
    for (const auto& [n, k] : std::initializer_list<std::pair<std::int64_t, std::int64_t>>{{90, 2000}, {500, 700}})
      check(numbers_in({m, k}, 10, {1, 0}), numbers_in({k, n}, 11));
}

TEST(OneDnnMatmul, CopiesWhatItCannotReadInPlace) {
  check_what_is_copied(DType::BF16, [](const Value& a, const Value& b) { check(a, b); });
}

TEST(OneDnnMatmul, BroadcastsBatchDimensions) {
  check_batches(DType::BF16, [](const Value& a, const Value& b) { check(a, b); });
}

TEST(OneDnnMatmul, ReadsAttentionHeadsInPlace) {
  check_attention_heads(DType::BF16, [](const Value& a, const Value& b) { check(a, b); });
}

TEST(OneDnnMatmul, CopesWithBatchesThatOverlapOrRunBackwards) {
  const Value line = numbers_in({200}, 17);
  check(view_of(line, {6, 5, 7}, {3, 7, 1}), numbers_in({6, 7, 4}, 18));
  check(view_of(line, {6, 5, 7}, {-10, 7, 1}, 60), numbers_in({6, 7, 4}, 18));
  check(view_of(line, {6, 5, 7}, {0, 7, 1}), numbers_in({6, 7, 4}, 18));
  check(view_of(line, {6, 1, 7}, {3, 7, 1}), numbers_in({7, 4}, 18));
}

TEST(OneDnnMatmul, GivesZerosForAnEmptySumAndNothingForEmptyOperands) {
  check_products_of_nothing(DType::BF16, multiply);
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
    EXPECT_FALSE(onednn::has_matmul(dtype, 2));
    const Value matrix = tensor({2, 2}, dtype);
    EXPECT_EQ(matmul::choose(matmul::MatmulCase::of(matrix, matrix)).algorithm, Algorithm::ProductTiles);
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
