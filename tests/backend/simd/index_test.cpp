// Reading by index and by masks, on every instruction set.
#include <cmath>

#include "tests/backend/simd/harness.hpp"

namespace kiln::cpu::simd {
namespace {

std::vector<double> whole_numbers(std::int64_t count, double limit, std::uint64_t seed) {
  std::vector<double> x = random_numbers(count, 0, limit, seed);
  for (double& number : x) number = std::floor(number);
  return x;
}

TEST(SimdNonzero, FindsPlacesAndElements) {
  for_each_target([] {
    for (const double share : {0.0, 0.1, 0.5, 0.97, 1.0})
      for (const std::int64_t size : {1, 5, 16, 63, 1000, 70000}) {
        std::vector<double> flags = random_numbers(size, 0, 1), places;
        for (std::int64_t i = 0; i < size; ++i) {
          double& flag = flags[static_cast<std::size_t>(i)];
          flag = flag < share;
          if (flag != 0) places.push_back(static_cast<double>(i));
        }
        const Value mask = tensor(DType::Bool, {size}, flags);
        EXPECT_EQ(numbers(run_op(op::Nonzero{std::ssize(places)}, {mask})), places);
        for (const DType dtype : {DType::U8, DType::F16, DType::F32, DType::I64}) {
          const std::vector<double> x = whole_numbers(size, 100, 2);
          std::vector<double> expected;
          for (const double place : places) expected.push_back(x[static_cast<std::size_t>(place)]);
          EXPECT_EQ(numbers(run_op(op::MaskSelect{std::ssize(places)}, {tensor(dtype, {size}, x), mask})), expected);
        }
      }
  });
}

TEST(SimdSelect, SharesLongRows) {
  constexpr std::int64_t kSize = 3;
  for_each_target([] {
    for (const std::int64_t outer : {1, 2})
      for (const std::int64_t length : {40001, 70000}) {
        const std::vector<double> x = whole_numbers(outer * kSize * length, 1000, 4);
        for (const DType dtype : {DType::F32, DType::I64}) {
          const Value table = tensor(dtype, {outer, kSize, length}, x);
          const std::vector<double> index = {2, 0, 2, 1};
          std::vector<double> expected;
          for (std::int64_t o = 0; o < outer; ++o)
            for (const double row : index) {
              const auto first = x.begin() + (o * kSize + static_cast<std::int64_t>(row)) * length;
              expected.insert(expected.end(), first, first + length);
            }
          EXPECT_EQ(numbers(run_op(op::Select{1}, {table, tensor(DType::I64, {4}, index)})), expected);
          EXPECT_THROW((void)run_op(op::Select{1}, {table, tensor(DType::I64, {1}, {3})}), IndexError);
        }
      }
  });
}

TEST(SimdSelectSum, AddsTheRowsOfBags) {
  constexpr std::int64_t kRows = 50;
  for_each_target([] {
    for (const std::int64_t size : {1, 3, 16, 75, 200})
      for (const Shape& bags : {Shape{7, 1}, Shape{40, 5}, Shape{3, 300}, Shape{2, 0}, Shape{0, 3}}) {
        const std::vector<double> x = rounded(DType::F32, random_numbers(kRows * size, -1, 1)),
                                  index = whole_numbers(numel(bags), kRows, 3);
        std::vector<double> expected(static_cast<std::size_t>(bags[0] * size));
        for (std::int64_t i = 0; i < numel(bags); ++i)
          for (std::int64_t c = 0; c < size; ++c)
            expected[static_cast<std::size_t>(i / bags[1] * size + c)] +=
                x[static_cast<std::size_t>(index[static_cast<std::size_t>(i)]) * static_cast<std::size_t>(size) +
                  static_cast<std::size_t>(c)];
        const Value table = tensor(DType::F32, {kRows, size}, x);
        for (const DType dtype : {DType::I64, DType::I32})
          expect_close(numbers(run_op(op::SelectSum{}, {table, tensor(dtype, bags, index)})), expected, 1e-6, 1e-5);
      }
    const Value table = tensor(DType::F32, {2, 1}, {1, 2});
    EXPECT_THROW((void)run_op(op::SelectSum{}, {table, tensor(DType::I64, {1, 1}, {2})}), IndexError);
  });
}

}  // namespace
}  // namespace kiln::cpu::simd
