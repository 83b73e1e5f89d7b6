// How far apart two clouds of points are: of images that were made and of real ones, by what a network sees in them.
#pragma once
#include <vector>

#include "kiln/tensor/tensor.hpp"
#include "kiln/train/metric/metric.hpp"

namespace kiln::metric {

/// How many points, their mean, and the sums of products of their distances to it; a state. Exact where the means are large,
/// too, as Moments.
struct Scatter {
  double count = 0;
  std::vector<double> means{}, products{};  // [features], [features, features]

  /// [points, features]. Throws ShapeError.
  void add(const Tensor<2>& points);
  void merge(const Scatter& other);
};

/// The Fréchet distance of two normal distributions with the means and covariances of the points: |m - n|^2 + tr(A + B - 2
/// (A B)^(1/2)). Of the 2048 features that Inception v3 has before its classifier it is called FID (Heusel et al., "GANs trained
/// by a two time-scale update rule converge to a local Nash equilibrium", 2017), and comparable with others' figures only with
/// that network's published weights.
struct FrechetDistance {
  Scatter made{}, real{};

  /// Features [points, features] of both, as many as there are of each. Throws ShapeError.
  void update(const Tensor<2>& of_made, const Tensor<2>& of_real) {
    made.add(of_made);
    real.add(of_real);
  }
  /// Throws ArgumentError for fewer than two points of a kind.
  double value() const;
};

}  // namespace kiln::metric
