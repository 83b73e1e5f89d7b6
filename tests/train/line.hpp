// The smallest training: a line through points.
#pragma once
#include <gtest/gtest.h>

#include <vector>

#include "kiln/data/loader.hpp"
#include "kiln/nn/linear.hpp"
#include "kiln/nn/regularization/dropout.hpp"
#include "kiln/train/output.hpp"
#include "tests/train/metric_data.hpp"

namespace kiln {

struct Line {
  nn::Dropout dropout;
  nn::Linear linear;
  Tensor<2> forward(const Tensor<2>& x) const { return linear.forward(dropout.forward(x)); }
};

struct Point {
  float x, y;
};
struct Points {
  std::vector<float> x, y;
};

inline Tensor<2> column(const std::vector<float>& numbers) {
  return Tensor<2>::of(numbers, {static_cast<std::int64_t>(numbers.size()), 1}, Device::cpu());
}

/// Always the same weights.
inline Line line(double dropout = 0) {
  const Device device = Device::cpu().autodiff();
  device.seed(3);
  return {{.probability = dropout}, nn::LinearConfig{.in = 1, .out = 1}.init(device)};
}

inline RegressionOutput fit_points(const Line& line, Points points) {
  const Tensor<2> predictions = line.forward(column(points.x)), targets = column(points.y);
  return {(predictions - targets).square().mean(), predictions, targets};
}

/// y = 2 x - 1, and noise.
inline DatasetPtr<Point> points(std::int64_t count) {
  const auto x = noise(1, count), more = noise(2, count);
  std::vector<Point> made;
  for (std::size_t i = 0; i < x.size(); ++i)
    made.push_back({static_cast<float>(x[i]), static_cast<float>(2 * x[i] - 1 + more[i] / 8)});
  return in_memory(made);
}

inline Points batched(std::span<const Point> points) {
  Points batch;
  for (const auto [x, y] : points) {
    batch.x.push_back(x);
    batch.y.push_back(y);
  }
  return batch;
}
inline DataLoader<Points> loader(std::int64_t count, const LoaderConfig& config) {
  return DataLoader(points(count), batched, config);
}

inline std::vector<float> weights(const Line& line) {
  auto numbers = line.linear.weight.to_vector<float>();
  for (const float bias : line.linear.bias.to_vector<float>()) numbers.push_back(bias);
  return numbers;
}

}  // namespace kiln
