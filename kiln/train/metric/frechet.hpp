// The distance between two sets of points: generated and real images, by the features that a network computes of them.
#pragma once
#include <vector>

#include "kiln/tensor/tensor.hpp"
#include "kiln/train/metric/metric.hpp"

namespace kiln::metric {

/// The count of points, their mean, and the sums of products of their distances from it; a state. Exact even for large
/// means, as Moments.
struct Scatter {
  double count = 0;
  std::vector<double> means{}, products{};  // [features], [features, features]

  /// Adds points [points, features]. Throws ShapeError.
  void add(const Tensor<2>& points);
  void merge(const Scatter& other);
};

/// The Fréchet distance of two normal distributions with the means and covariances of the points: |m - n|^2 + tr(A + B
/// - 2 (A B)^(1/2)). With the 2048 features of Inception v3 before its classifier it is called FID (Heusel et al.,
/// "GANs trained by a two time-scale update rule converge to a local Nash equilibrium", 2017); figures are only
/// comparable with that network's published weights.
struct FrechetDistance {
  Scatter made{}, real{};

  /// Features [points, features] of equally many generated and real images. Throws ShapeError.
  void update(const Tensor<2>& of_made, const Tensor<2>& of_real) {
    made.add(of_made);
    real.add(of_real);
  }
  /// Throws ArgumentError for fewer than two points of a kind.
  double value() const;
};

}  // namespace kiln::metric
