// The smallest training: a line through points.
#pragma once
#include <vector>

#include "kiln/data/loader.hpp"
#include "kiln/nn/linear.hpp"
#include "kiln/nn/regularization/dropout.hpp"
#include "kiln/optim/rules/adam.hpp"
#include "kiln/train/learner.hpp"

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

/// Always the same weights.
Line line(double dropout = 0);
RegressionOutput fit_points(const Line& line, Points points);
/// y = 2 x - 1, and noise.
DatasetPtr<Point> points(std::int64_t count);
DataLoader<Points> loader(std::int64_t count, const LoaderConfig& config);
std::vector<float> weights(const Line& line);

using LineLearner = Learner<Line, Adam, RegressionOutput (*)(const Line&, Points)>;
extern template class Learner<Line, Adam, RegressionOutput (*)(const Line&, Points)>;
/// Adam's, of that line.
LineLearner line_learner(const LearnerConfig& config, double dropout = 0);

}  // namespace kiln
