// Bytes in any memory order, and loops over whole numbers that say what is right.
#pragma once
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu {

inline Value tensor(const Shape& shape, DType dtype) { return Value(make_ref<Node>(Desc{shape, dtype}, Device{})); }

/// All numbers of the type, the extremes among them; `order` names the dimension with stride 1 last.
inline Value random_bytes(const Shape& shape, DType dtype, unsigned seed, std::vector<int> order = {}) {
  if (order.empty()) {
    order.resize(static_cast<std::size_t>(shape.size()));
    std::iota(order.begin(), order.end(), 0);
  }
  Dims strides = Dims::filled(shape.size(), 1);
  std::int64_t stride = 1;
  for (auto dim = order.rbegin(); dim != order.rend(); ++dim) {
    strides[*dim] = stride;
    stride *= shape[*dim];
  }
  Value value = tensor(shape, dtype);
  const Array array = allocate(value, strides);
  std::mt19937 random(seed);
  constexpr std::uint8_t kExtremes[] = {0, 127, 128, 255};
  for (std::int64_t i = 0; i < array.numel(); ++i) {
    const auto number = static_cast<unsigned>(random());
    array.as<std::uint8_t>()[i] =
        number % 4 == 0 ? kExtremes[number >> 8 & 3] : static_cast<std::uint8_t>(number >> 16);
  }
  return value;
}

/// The elements in row-major order.
inline std::vector<std::int64_t> whole_numbers(const Value& value) {
  Value held;
  const Array array = read_contiguous(value, held);
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < array.numel(); ++i)
    result.push_back(array.dtype == DType::U8   ? std::int64_t{array.as<std::uint8_t>()[i]}
                     : array.dtype == DType::I8 ? std::int64_t{array.as<std::int8_t>()[i]}
                                                : std::int64_t{array.as<std::int32_t>()[i]});
  return result;
}

inline std::int64_t wrapped(std::int64_t sum) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(sum)); }

template <class Op>
Value run_on_bytes(const Op& op, const std::vector<Value>& in, bool (*kernel)(const Op&, Call)) {
  const Descs descs = op.infer(in);
  Value out = tensor(descs[0].shape, descs[0].dtype);
  EXPECT_TRUE(kernel(op, {in, {&out, 1}}));
  return out;
}

}  // namespace kiln::cpu
