// Sorting against std::stable_sort, in lines that one block sorts and in longer ones.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "kiln/ops/reduce/order.hpp"
#include "tests/backend/gpu/family/device.hpp"

namespace kiln::test {
namespace {

/// Any bits at all: of floats NaN of either sign, infinities, zeros of both signs, numbers near 0.
TensorData any_bits(const Shape& shape, DType dtype, unsigned seed) {
  if (dtype == DType::Bool) return whole_numbers(shape, dtype, 2, seed);
  std::mt19937_64 random(seed);
  TensorData data(shape, dtype);
  const std::size_t size = size_of(dtype);
  std::byte* const bytes = data.bytes().data();
  for (std::size_t i = 0; i < places(shape); ++i) {
    std::uint64_t bits = random();
    if (random() % 4 == 0) bits &= std::uint64_t{1} << (8 * size - 1);  // 0, -0 or the least number
    if (random() % 8 == 0) bits = ~std::uint64_t{0};                    // NaN, -1 or the largest number
    if (random() % 8 == 0) bits = random() % 3;
    std::memcpy(bytes + i * size, &bits, size);
  }
  return data;
}

/// Does an element come before another? NaN is larger than any number.
template <class T>
bool comes_before(T a, T b) {
  if constexpr (is_half<T>) return comes_before(static_cast<float>(a), static_cast<float>(b));
  else return a < b || (b != b && a == a);
}

void expect_sorted(const TensorData& x, bool descending, std::int64_t count, const TensorData& values,
                   const TensorData& indices) {
  const std::int64_t length = x.shape().back(), lines = x.numel() / length;
  visit_dtype(x.dtype(), [&]<class T>(TypeTag<T>) {
    const T* const all = reinterpret_cast<const T*>(x.bytes().data());
    for (std::int64_t line = 0; line < lines; ++line) {
      const T* const from = all + line * length;
      std::vector<std::int64_t> order(static_cast<std::size_t>(length));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        return descending ? comes_before(from[b], from[a]) : comes_before(from[a], from[b]);
      });
      for (std::int64_t i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(line * count + i);
        ASSERT_EQ(indices.as<std::int64_t>()[at], order[static_cast<std::size_t>(i)])
            << text(x.dtype(), " ", x.shape(), ", element ", i, " of ", count);
        ASSERT_EQ(bits_at(values, at), bits_at(x, static_cast<std::size_t>(line * length) +
                                                      static_cast<std::size_t>(order[static_cast<std::size_t>(i)])));
      }
    }
  });
}

TEST(GpuOrder, SortsLinesInSharedMemory) {
  for (const DType dtype : kAllTypes)
    for (const std::int64_t length : {1, 2, 31, 33, 64, 65, 200})
      for (const bool descending : {false, true}) {
        const TensorData x = any_bits({3, length}, dtype, 5);
        const auto [values, indices] = sort(from_data(x, simulated()), -1, descending);
        expect_sorted(x, descending, length, values.data(), indices.data());
      }
}

TEST(GpuOrder, SortsTheLongestLinesOfOneBlockAndThoseBeyond) {
  for (const DType dtype : {DType::F32, DType::I64})
    for (const std::int64_t length : {2048, 2049, 4096, 4097}) {
      const TensorData x = any_bits({2, length}, dtype, 6);
      const auto [values, indices] = sort(from_data(x, simulated()), -1, false);
      expect_sorted(x, false, length, values.data(), indices.data());
    }
}

TEST(GpuOrder, SortsLongLinesOfEveryType) {
  for (const DType dtype : kAllTypes)
    for (const bool descending : {false, true}) {
      const TensorData x = any_bits({2, 9001}, dtype, 7);
      const auto [values, indices] = sort(from_data(x, simulated()), -1, descending);
      expect_sorted(x, descending, 9001, values.data(), indices.data());
    }
}

TEST(GpuOrder, TakesTheFirstFewOfLinesOfAnyLength) {
  for (const DType dtype : {DType::F32, DType::F16, DType::U64})
    for (const std::int64_t length : {5, 300, 4100, 20000})
      for (const std::int64_t count : {1, 5, 500})
        for (const bool largest : {false, true}) {
          if (count > length) continue;
          const TensorData x = any_bits({2, length}, dtype, 8);
          const auto [values, indices] = topk(from_data(x, simulated()), count, -1, largest);
          expect_sorted(x, largest, count, values.data(), indices.data());
        }
}

TEST(GpuOrder, TakesMoreThanATileKeeps) {
  const TensorData x = any_bits({1, 6000}, DType::F32, 9);
  const auto [values, indices] = topk(from_data(x, simulated()), 3000, -1, true);
  expect_sorted(x, true, 3000, values.data(), indices.data());
}

TEST(GpuOrder, SortsAlongAnyDimension) {
  const TensorData x = any_bits({20, 3, 11}, DType::F32, 10);
  const Value on = from_data(x, simulated());
  for (const auto& [dim, order] : {std::pair{0, Dims{1, 2, 0}}, std::pair{1, Dims{0, 2, 1}}}) {
    const auto [values, indices] = sort(on, dim, true);
    const TensorData lines = permute(on, order).data();
    expect_sorted(lines, true, lines.shape().back(), permute(values, order).data(), permute(indices, order).data());
  }
  EXPECT_EQ(sort(from_data(TensorData({3, 0}, DType::F32), simulated()), 1, false).values.shape(), (Shape{3, 0}));
  EXPECT_EQ(topk(on, 0, 1, true).indices.shape(), (Shape{20, 0, 11}));
}

TEST(GpuOrder, SearchesAsTheOrderSays) {
  for (const DType dtype : {DType::F64, DType::F32, DType::BF16, DType::I8, DType::U64}) {
    const TensorData lines = any_bits({2, 70}, dtype, 11), wanted = any_bits({2, 300}, dtype, 12);
    const TensorData sorted = sort(from_data(lines, simulated()), -1, false).values.data();
    for (const bool right : {false, true}) {
      const TensorData found =
          searchsorted(from_data(sorted, simulated()), from_data(wanted, simulated()), right).data();
      visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
        const T* const all = reinterpret_cast<const T*>(sorted.bytes().data());
        const T* const values = reinterpret_cast<const T*>(wanted.bytes().data());
        for (std::int64_t i = 0; i < 600; ++i) {
          std::int64_t expected = 0;
          for (std::int64_t j = 0; j < 70; ++j) {
            const T each = all[i / 300 * 70 + j];
            expected += right ? !comes_before(values[i], each) : comes_before(each, values[i]);
          }
          ASSERT_EQ(found.as<std::int64_t>()[static_cast<std::size_t>(i)], expected) << dtype;
        }
      });
    }
  }
}

}  // namespace
}  // namespace kiln::test
