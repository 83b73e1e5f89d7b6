// The data of metric_figures.py, and what every metric has to do with them.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/tensor.hpp"
#include "kiln/train/metric/metric.hpp"
#include "tests/train/metric/metric_figures.hpp"

namespace kiln {

inline constexpr std::int64_t kItems = 203, kClasses = 5;

/// Numbers in [0, 1) of 12 bits: as floats exact, and some of them equal.
inline std::vector<double> noise(std::uint64_t stream, std::int64_t count) {
  std::vector<double> numbers;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(count); ++i) {
    auto mixed = static_cast<std::uint32_t>((i + 1000 * stream + 1) * 2654435761u);
    mixed = (mixed ^ mixed >> 15) * 2246822519u;
    numbers.push_back((mixed >> 20) / 4096.0);
  }
  return numbers;
}

inline std::vector<double> map_each(std::vector<double> numbers, const auto& f) {
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = f(numbers[i], i);
  return numbers;
}

/// Rows [begin, end) of numbers as a float64 tensor [rows, ...]; of integers as an int64 one.
template <int D>
Tensor<D> rows(const std::vector<double>& all, Shape shape, std::int64_t begin, std::int64_t end) {
  const std::int64_t each = numel(shape) / shape[0];
  shape[0] = end - begin;
  const std::span part(all.data() + begin * each, static_cast<std::size_t>((end - begin) * each));
  return Tensor<D>::from_data(TensorData::of<double>(shape, part), Device::cpu());
}
template <int D>
Tensor<D, Int> int_rows(const std::vector<double>& all, const Shape& shape, std::int64_t begin, std::int64_t end) {
  return rows<D>(all, shape, begin, end).to_int();
}

/// The metric has this value of `items` items: by update(metric, begin, end) of all at once; of batches of unequal size,
/// some of which are empty; and put together from two of parts, one of which saw nothing at first.
template <Metric M, class F>
void expect_metric(double expected, const M& metric, std::int64_t items, F&& update) {
  const std::string name = metric::name_of<M>();
  M whole = metric;
  update(whole, 0, items);
  EXPECT_NEAR(whole.value(), expected, 1e-6 * std::min(1.0, std::abs(expected))) << name;

  M batches = metric, first = metric::fresh(whole), second = metric;
  metric::merge(first, metric);
  std::int64_t size = 1;
  for (std::int64_t begin = 0, end; begin < items; begin = end, size = 3 * size % 67 + 1) {
    end = std::min(items, begin + size);
    update(batches, begin, end);
    update(batches, end, end);
    update(begin < items / 3 ? first : second, begin, end);
  }
  EXPECT_NEAR(batches.value(), expected, 1e-6 * std::min(1.0, std::abs(expected))) << name << " in batches";
  metric::merge(first, second);
  EXPECT_NEAR(first.value(), expected, 1e-6 * std::min(1.0, std::abs(expected))) << name << " merged";
}

}  // namespace kiln
