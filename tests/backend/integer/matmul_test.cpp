#include "kiln/backend/cpu/integer/integer.hpp"
#include "tests/backend/integer/bytes.hpp"

namespace kiln::cpu {
namespace {

const std::vector<DType> kBytes = {DType::U8, DType::I8};

/// A zero point for each of `count` rows or columns.
std::vector<std::int64_t> zeros_of(const Value& zero, std::int64_t count) {
  std::vector<std::int64_t> zeros = zero ? whole_numbers(zero) : std::vector<std::int64_t>{0};
  if (zeros.size() == 1) zeros.assign(static_cast<std::size_t>(count), zeros[0]);
  return zeros;
}

std::vector<std::int64_t> expected(const Value& a, const Value& b, const Value& a_zero, const Value& b_zero,
                                   const Shape& shape) {
  const std::vector<std::int64_t> x = whole_numbers(a), y = whole_numbers(b);
  const std::int64_t m = a.dim(-2), k = a.dim(-1), n = b.dim(-1);
  const std::vector<std::int64_t> of_rows = zeros_of(a_zero, m), of_columns = zeros_of(b_zero, n);
  const Shape batch(shape.begin(), shape.end() - 2);
  std::vector<std::int64_t> result;
  for (std::int64_t index = 0; index < numel(batch); ++index) {
    const auto matrix_of = [&](const Value& operand) {
      std::int64_t rest = index, at = 0, step = 1;
      for (int i = batch.size() - 1, j = operand.rank() - 3; j >= 0; --i, --j) {
        at += operand.shape()[j] == 1 ? 0 : rest % batch[i] * step;
        step *= operand.shape()[j];
        rest /= batch[i];
      }
      return at;
    };
    const std::int64_t left = matrix_of(a) * m * k, right = matrix_of(b) * k * n;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        std::int64_t sum = 0;
        for (std::int64_t l = 0; l < k; ++l)
          sum += (x[static_cast<std::size_t>(left + i * k + l)] - of_rows[static_cast<std::size_t>(i)]) *
                 (y[static_cast<std::size_t>(right + l * n + j)] - of_columns[static_cast<std::size_t>(j)]);
        result.push_back(wrapped(sum));
      }
  }
  return result;
}

void check(const Value& a, const Value& b, const Value& a_zero = {}, const Value& b_zero = {}) {
  const Value c = run_on_bytes(op::MatmulInteger{}, {a, b, a_zero, b_zero}, integer::run);
  EXPECT_EQ(whole_numbers(c), expected(a, b, a_zero, b_zero, c.shape())) << text(a, " x ", b);
}

TEST(IntegerMatmul, MultipliesBytesOfAnySignOrderAndZeroPoint) {
  const std::vector<int> orders[] = {{0, 1}, {1, 0}};
  for (const DType left : kBytes)
    for (const DType right : kBytes)
      for (const auto& order_a : orders)
        for (const auto& order_b : orders)
          for (const auto& [m, n, k] : std::initializer_list<std::array<std::int64_t, 3>>{
                   {1, 1, 1}, {1, 70, 33}, {5, 17, 64}, {16, 32, 128}, {33, 130, 65}, {70, 9, 3}}) {
            const Value a = random_bytes({m, k}, left, 1, order_a), b = random_bytes({k, n}, right, 2, order_b);
            check(a, b);
            check(a, b, random_bytes({}, left, 3), random_bytes({}, right, 4));
            check(a, b, random_bytes({1, 1}, left, 5), random_bytes({n}, right, 6));
            check(a, b, {}, random_bytes({1, n}, right, 7));
            check(a, b, random_bytes({1}, left, 8));
          }
}

TEST(IntegerMatmul, MultipliesBatches) {
  for (const auto& [a, b] : std::initializer_list<std::pair<Shape, Shape>>{{{5, 3, 4}, {5, 4, 6}},
                                                                           {{5, 3, 4}, {4, 6}},
                                                                           {{3, 4}, {5, 4, 6}},
                                                                           {{5, 1, 3, 4}, {7, 4, 6}},
                                                                           {{5, 7, 3, 4}, {5, 1, 4, 6}},
                                                                           {{2, 3, 40, 64}, {3, 64, 36}},
                                                                           {{1, 3, 4}, {1, 1, 4, 6}},
                                                                           {{9, 1, 4}, {4, 6}},
                                                                           {{2, 3, 1, 5, 4}, {3, 6, 4, 2}}})
    check(random_bytes(a, DType::U8, 1), random_bytes(b, DType::I8, 2), random_bytes({}, DType::U8, 3),
          random_bytes({b.back()}, DType::I8, 4));
}

TEST(IntegerMatmul, GivesTheSameOnAnyThreads) {
  const int before = num_threads();
  for (const auto& [m, n, k] :
       std::initializer_list<std::array<std::int64_t, 3>>{{300, 700, 200}, {1, 3000, 300}, {2000, 5, 100}})
    for (const int threads : {1, 2, 5}) {
      set_num_threads(threads);
      check(random_bytes({m, k}, DType::U8, 1), random_bytes({k, n}, DType::I8, 2), random_bytes({}, DType::U8, 3));
    }
  set_num_threads(before);
}

/// Packed from the second time on, by one operand under two names: as a matrix, and turned over.
TEST(IntegerMatmul, KeepsApartWhatIsPackedOfOneMatrix) {
  const Value b = random_bytes({40, 40}, DType::I8, 2);
  Value turned = tensor({40, 40}, DType::I8), as_unsigned = tensor({40, 40}, DType::U8);
  alias(turned, b, {1, 40}, b.node()->offset);
  alias(as_unsigned, b, {40, 1}, b.node()->offset);
  for (int time = 0; time < 4; ++time)
    for (const Value& right : {b, turned, as_unsigned}) check(random_bytes({20, 40}, DType::U8, 3), right);
}

TEST(IntegerMatmul, LeavesZeroPointsOfRowsToOthers) {
  const std::vector<Value> in = {random_bytes({3, 4}, DType::U8, 1), random_bytes({4, 5}, DType::I8, 2),
                                 random_bytes({3, 1}, DType::U8, 3), Value()};
  Value out = tensor({3, 5}, DType::I32);
  EXPECT_FALSE(integer::run(op::MatmulInteger{}, {in, {&out, 1}}));
}

TEST(IntegerMatmul, GivesZerosForAnEmptySum) {
  const Value c = run_on_bytes(op::MatmulInteger{},
                               {random_bytes({2, 0}, DType::U8, 1), random_bytes({0, 3}, DType::I8, 1)}, integer::run);
  EXPECT_EQ(whole_numbers(c), std::vector<std::int64_t>(6, 0));
}

}  // namespace
}  // namespace kiln::cpu
