// What the oracles of these tests compute in: float64 arrays addressed by whole indices, and operands that lie in
// memory in every inconvenient way.
#pragma once
#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/core/random.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/op.hpp"

namespace kiln {

struct Grid {
  explicit Grid(const Shape& shape) : shape(shape), values(static_cast<std::size_t>(numel(shape))) {}
  explicit Grid(const Value& value) : Grid(value.shape()) {
    const TensorData data = value.data();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = data.at(static_cast<std::int64_t>(i));
  }

  /// Broadcasts: an index into a larger shape drops what this one lacks.
  double operator[](const Dims& index) const { return values[place(index)]; }
  double& operator[](const Dims& index) { return values[place(index)]; }

  std::size_t place(const Dims& index) const {
    std::int64_t place = 0;
    const int extra = index.size() - shape.size();
    for (int i = 0; i < shape.size(); ++i) place = place * shape[i] + (shape[i] == 1 ? 0 : index[i + extra]);
    return static_cast<std::size_t>(place);
  }

  /// Calls f(index) for every index of the shape, in row-major order.
  void each(const std::function<void(const Dims&)>& f) const {
    Dims index = Dims::filled(shape.size(), 0);
    for (std::size_t left = values.size(); left > 0; --left) {
      f(index);
      for (int i = shape.size() - 1; i >= 0 && ++index[i] == shape[i]; --i) index[i] = 0;
    }
  }

  TensorData to(DType dtype) const { return TensorData::of<double>(shape, std::span<const double>(values)).to(dtype); }

  Shape shape;
  std::vector<double> values;
};

/// A grid of f(index).
inline Grid grid(const Shape& shape, const std::function<double(const Dims&)>& f) {
  Grid result(shape);
  result.each([&](const Dims& index) { result[index] = f(index); });
  return result;
}

/// Numbers in [low, high), contiguous.
inline Value numbers(const Device& device, const Shape& shape, DType dtype, double low = -2, double high = 2) {
  Random random(std::uint64_t{7} + static_cast<std::uint64_t>(numel(shape)));
  return from_data(grid(shape, [&](const Dims&) { return random.uniform(low, high); }).to(dtype), device);
}

/// The same, but lying reversed and two apart along the first dimension, and otherwise in the reverse order.
inline Value scattered(const Device& device, const Shape& shape, DType dtype, double low = -2, double high = 2) {
  Shape reversed(shape);
  Dims order, begin, step;
  for (int i = 0; i < shape.size(); ++i) {
    reversed[i] = shape[shape.size() - 1 - i] * (i + 1 == shape.size() ? 2 : 1);
    order.push_back(shape.size() - 1 - i);
    begin.push_back(i == 0 ? 2 * shape[0] - 1 : 0);
    step.push_back(i == 0 ? -2 : 1);
  }
  return emit(op::Slice{begin, step, shape}, {permute(numbers(device, reversed, dtype, low, high), order)});
}

/// Every device of the CPU; the tests of a suite run on each.
class OnEachCpu : public testing::TestWithParam<const char*> {
 protected:
  Device device = Device::parse(GetParam());
};
#define KILN_ON_EACH_CPU(Suite)                                                \
  INSTANTIATE_TEST_SUITE_P(Device, Suite, testing::Values("reference", "cpu"), \
                           [](const auto& info) { return std::string(info.param); })

}  // namespace kiln
