// Operands in any memory order, and float64 copies of them for the loops that say what is right.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <numeric>
#include <random>
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu {

inline Value tensor(const Shape& shape, DType dtype = DType::F32) {
  return Value(make_ref<Node>(Desc{shape, dtype}, Device{}));
}

/// Multiples of 1/8 in [-1, 1], exact in every float type, which `order` lays out: the last dimension it names is
/// the one with stride 1. Empty: row-major.
inline Value random_tensor(const Shape& shape, unsigned seed, std::vector<int> order = {}, DType dtype = DType::F32) {
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
  for (std::int64_t i = 0; i < array.numel(); ++i) {
    const float number = static_cast<float>(static_cast<int>(random() % 17) - 8) / 8;
    if (dtype == DType::BF16) array.as<BF16>()[i] = BF16(number);
    else if (dtype == DType::F16) array.as<F16>()[i] = F16(number);
    else if (dtype == DType::F64) array.as<double>()[i] = number;
    else array.as<float>()[i] = number;
  }
  return value;
}

/// The same memory under other sizes and strides.
inline Value view_of(const Value& value, const Shape& shape, const Dims& strides, std::int64_t offset = 0) {
  Value view = tensor(shape, value.dtype());
  alias(view, value, strides, offset + value.node()->offset);
  return view;
}

/// The elements in row-major order.
inline std::vector<double> numbers(const Value& value) {
  const Array array = read(value);
  std::vector<double> result;
  result.reserve(static_cast<std::size_t>(array.numel()));
  Shape index = Shape::filled(array.shape.size(), 0);
  for (std::int64_t n = array.numel(); n > 0; --n) {
    std::int64_t at = 0;
    for (int i = 0; i < index.size(); ++i) at += index[i] * array.strides[i];
    if (array.dtype == DType::BF16) result.push_back(static_cast<float>(array.as<BF16>()[at]));
    else if (array.dtype == DType::F16) result.push_back(static_cast<float>(array.as<F16>()[at]));
    else if (array.dtype == DType::F64) result.push_back(array.as<double>()[at]);
    else result.push_back(array.as<float>()[at]);
    for (int i = index.size() - 1; i >= 0 && ++index[i] == array.shape[i]; --i) index[i] = 0;
  }
  return result;
}

/// How far apart two lists are, against the largest number in the second.
inline double distance(const std::vector<double>& actual, const std::vector<double>& expected) {
  if (actual.size() != expected.size()) return 1e300;
  double worst = 0, largest = 1;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    worst = actual[i] == actual[i] ? std::max(worst, std::abs(actual[i] - expected[i])) : 1e300;
    largest = std::max(largest, std::abs(expected[i]));
  }
  return worst / largest;
}

/// Rows times columns in float64, each batch index looked up by hand.
inline std::vector<double> product(const Value& a, const Value& b, const Shape& shape) {
  const std::vector<double> x = numbers(a), y = numbers(b);
  const std::int64_t m = a.dim(-2), k = a.dim(-1), n = b.dim(-1);
  const Shape batch(shape.begin(), shape.end() - 2);
  std::vector<double> result(static_cast<std::size_t>(numel(batch) * m * n));
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
    const double *left = x.data() + matrix_of(a) * m * k, *right = y.data() + matrix_of(b) * k * n;
    for (std::int64_t i = 0; i < m; ++i) {
      double* const sums = result.data() + (index * m + i) * n;
      for (std::int64_t l = 0; l < k; ++l) {  // row after row of b, as it lies
        const double factor = left[i * k + l];
        const double* const row = right + l * n;
        for (std::int64_t j = 0; j < n; ++j) sums[j] += factor * row[j];
      }
    }
  }
  return result;
}

/// Numbers whose sums are rounded, so that the order of additions shows.
inline Value random_fractions(const Shape& shape, unsigned seed, std::vector<int> order = {}) {
  const Value value = random_tensor(shape, seed, std::move(order));
  const Array array = read(value);
  std::mt19937 random(seed);
  for (std::int64_t i = 0; i < array.numel(); ++i)
    array.as<float>()[i] = static_cast<float>(random()) / 4294967296.0f - 0.5f;
  return value;
}

inline bool same_bits(const Value& a, const Value& b) {
  const std::vector<double> x = numbers(a), y = numbers(b);
  return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0);
}

/// multiply(a, b) gives the same bits on 1, 2, 5 and 16 threads.
template <class Multiply>
void expect_same_bits_on_any_threads(std::initializer_list<std::pair<Value, Value>> operands, Multiply&& multiply) {
  const int before = num_threads();
  for (const auto& [a, b] : operands) {
    set_num_threads(1);
    const Value one = multiply(a, b);
    for (const int threads : {2, 5, 16}) {
      set_num_threads(threads);
      EXPECT_TRUE(same_bits(one, multiply(a, b))) << text(a, " x ", b, " on ", threads);
    }
  }
  set_num_threads(before);
}

}  // namespace kiln::cpu
