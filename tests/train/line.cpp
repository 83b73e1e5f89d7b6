#include "tests/train/line.hpp"

#include "tests/train/metric/metric_data.hpp"

namespace kiln {
namespace {

Tensor<2> column(const std::vector<float>& numbers) {
  return Tensor<2>::of(numbers, {static_cast<std::int64_t>(numbers.size()), 1}, Device::cpu());
}

Points batched(std::span<const Point> points) {
  Points batch;
  for (const auto [x, y] : points) {
    batch.x.push_back(x);
    batch.y.push_back(y);
  }
  return batch;
}

}  // namespace

template class Learner<Line, Adam, RegressionOutput (*)(const Line&, Points)>;

Line line(double dropout) {
  const Device device = Device::cpu().autodiff();
  device.seed(3);
  return {{.probability = dropout}, nn::LinearConfig{.in = 1, .out = 1}.init(device)};
}

RegressionOutput fit_points(const Line& line, Points points) {
  const Tensor<2> predictions = line.forward(column(points.x)), targets = column(points.y);
  return {(predictions - targets).square().mean(), predictions, targets};
}

DatasetPtr<Point> points(std::int64_t count) {
  const auto x = noise(1, count), more = noise(2, count);
  std::vector<Point> made;
  for (std::size_t i = 0; i < x.size(); ++i)
    made.push_back({static_cast<float>(x[i]), static_cast<float>(2 * x[i] - 1 + more[i] / 8)});
  return in_memory(made);
}

DataLoader<Points> loader(std::int64_t count, const LoaderConfig& config) {
  return DataLoader(points(count), batched, config);
}

std::vector<float> weights(const Line& line) {
  auto numbers = line.linear.weight.to_vector<float>();
  for (const float bias : line.linear.bias.to_vector<float>()) numbers.push_back(bias);
  return numbers;
}

LineLearner line_learner(const LearnerConfig& config, double dropout) {
  return LineLearner(line(dropout), AdamConfig{}.init(line()), fit_points, config);
}

}  // namespace kiln
