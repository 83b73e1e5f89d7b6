#include "kiln/backend/cpu/rows.hpp"
#include "kiln/core/parallel.hpp"
#include "tests/backend/simd/harness.hpp"

namespace kiln::cpu::simd {
namespace {

std::vector<double> counting(std::int64_t count) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(static_cast<double>(i % 120));
  return result;
}

Value copied(const Value& from, const Dims& order) {
  Value to =
      tensor(from.dtype(), from.shape(), std::vector<double>(static_cast<std::size_t>(from.numel()), 121), order);
  copy(read(from), read(to));
  return to;
}

TEST(Copy, MovesEveryElementBetweenAnyTwoMemoryOrders) {
  const Dims orders[] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const Shape& shape : {Shape{3, 17, 33}, Shape{1, 5, 1}, Shape{2, 8, 676}, Shape{2, 40, 100}, Shape{2, 0, 3}})
    for (const DType dtype : {DType::U8, DType::F16, DType::F32, DType::F64})
      for (const Dims& from : orders)
        for (const Dims& to : orders) {
          const auto x = counting(numel(shape));
          EXPECT_EQ(numbers(copied(tensor(dtype, shape, x, from), to)), x);
        }
}

TEST(Copy, RepeatsAndSkips) {
  const Value row = tensor(DType::F32, {1, 300}, counting(300)), column = tensor(DType::F32, {300, 1}, counting(300));
  for (const Value& value :
       {expanded(row, {300, 300}), expanded(column, {300, 300}), every(7, tensor(DType::F32, {9, 50}, counting(450)))})
    EXPECT_EQ(numbers(copied(value, {1, 0})), numbers(value));
}

// Long rows that come to lie a little behind their place are copied line by line.
TEST(Copy, MovesLongRowsToAnyPlace) {
  const Shape shape{3, 4096 + 70};
  const Value x = tensor(DType::U8, {3, 4096}, counting(3 * 4096));
  for (std::int64_t offset = 0; offset < 70; ++offset) {
    const Value whole = tensor(DType::U8, shape, std::vector<double>(static_cast<std::size_t>(numel(shape)), 121));
    Array part = read(whole);
    part.shape = x.shape();
    part.data += offset;
    copy(read(x), part);
    const std::vector<double> from = numbers(x), to = numbers(whole);
    for (std::int64_t i = 0; i < numel(shape); ++i) {
      const std::int64_t row = i / shape[1], column = i % shape[1] - offset;
      const bool inside = column >= 0 && column < 4096;
      ASSERT_EQ(to[static_cast<std::size_t>(i)], inside ? from[static_cast<std::size_t>(row * 4096 + column)] : 121);
    }
  }
}

TEST(Copy, WorksOnSeveralThreads) {
  const int before = num_threads();
  set_num_threads(2);
  const auto x = counting(600 * 700);
  EXPECT_EQ(numbers(copied(tensor(DType::F32, {600, 700}, x), {1, 0})), x);
  EXPECT_EQ(numbers(copied(tensor(DType::F32, {600, 700}, x), {0, 1})), x);
  set_num_threads(before);
}

}  // namespace
}  // namespace kiln::cpu::simd
