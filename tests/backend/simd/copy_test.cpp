#include <algorithm>
#include <iterator>

#include "kiln/backend/cpu/copy_bytes.hpp"
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

TEST(Copy, TurnsRowsAround) {
  constexpr std::int64_t kRows = 3;
  for (const DType dtype : {DType::U8, DType::F16, DType::F32, DType::F64})
    for (const std::int64_t length : {2, 9, 16, 31, 33, 100}) {
      const Value from = tensor(dtype, {kRows, length}, counting(kRows * length));
      const auto around = [&](Array array) {
        array.data += (length - 1) * static_cast<std::int64_t>(size_of(dtype));
        array.strides.back() = -1;
        return array;
      };
      std::vector<double> expected(static_cast<std::size_t>(kRows * length));
      for (std::int64_t i = 0; i < kRows * length; ++i)
        expected[static_cast<std::size_t>(i)] =
            static_cast<double>((i / length * length + length - 1 - i % length) % 120);
      const std::vector<double> others(expected.size(), 121);
      const Value read_so = tensor(dtype, {kRows, length}, others), written_so = tensor(dtype, {kRows, length}, others);
      copy(around(read(from)), read(read_so));
      EXPECT_EQ(numbers(read_so), expected) << name(dtype) << ' ' << length;
      copy(read(from), around(read(written_so)));
      EXPECT_EQ(numbers(written_so), expected) << name(dtype) << ' ' << length;
    }
}

TEST(Copy, MovesShortRowsOfAnyLength) {
  for (std::int64_t bytes = 1; bytes < 200; ++bytes) {
    const auto x = counting(5 * 4 * bytes);
    const Value from = tensor(DType::U8, {5, 4, bytes}, x, {1, 0, 2});
    EXPECT_EQ(numbers(copied(from, {0, 1, 2})), x) << bytes;
  }
}

// Long rows that come to lie a little behind their place in a page are copied line by line.
TEST(Copy, MovesRowsToAnyPlaceInAPage) {
  constexpr std::size_t kPage = 4096;
  alignas(kPage) static unsigned char from[2 * kPage], to[2 * kPage];
  for (std::size_t i = 0; i < sizeof(from); ++i) from[i] = static_cast<unsigned char>(i % 120);
  for (std::size_t behind = 0; behind < 70; ++behind)
    for (const std::size_t length : {0, 1, 63, 2048, 2049, 2111, 2112, 4101}) {
      std::fill(std::begin(to), std::end(to), 121);
      copy_bytes(to + behind, from, length);
      EXPECT_TRUE(std::equal(from, from + length, to + behind)) << behind << ' ' << length;
      const auto others = std::count(std::begin(to), std::end(to), 121);
      EXPECT_EQ(static_cast<std::size_t>(others), sizeof(to) - length) << behind << ' ' << length;
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
