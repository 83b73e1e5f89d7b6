#include "kiln/train/metric/frechet.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/linalg.hpp"

namespace kiln::metric {
namespace {

Tensor<2> doubles(const std::vector<double>& numbers, std::int64_t rows, std::int64_t columns) {
  return Tensor<2>::from_data(TensorData::of<double>({rows, columns}, numbers), Device::cpu());
}

/// The covariance, from sums of products of distances.
Tensor<2> covariance(const Scatter& points) {
  const auto size = std::ssize(points.means);
  return doubles(points.products, size, size) / (points.count - 1);
}

/// The square roots of eigenvalues, which are only negative by rounding.
Tensor<1> roots(const Tensor<1>& eigenvalues) {
  return eigenvalues.clamp(0.0, std::numeric_limits<double>::infinity()).sqrt();
}

}  // namespace

void Scatter::add(const Tensor<2>& points) {
  const NoGrad pause;
  const std::int64_t rows = points.dim(0), columns = points.dim(1);
  if (rows == 0) return;
  const Tensor<2> all = doubles(points.to_vector<double>(), rows, columns);
  const Tensor<2> mean = all.mean(keep, 0);
  const Tensor<2> apart = all - mean;
  merge({static_cast<double>(rows), mean.to_vector<double>(), apart.transpose().matmul(apart).to_vector<double>()});
}

void Scatter::merge(const Scatter& other) {
  if (other.count == 0) return;
  if (count == 0) {
    *this = other;
    return;
  }
  require<ShapeError>(means.size() == other.means.size(), "frechet distance: ", other.means.size(), " features after ",
                      means.size());
  const std::size_t size = means.size();
  const double all = count + other.count, weight = count * other.count / all;
  std::vector<double> apart(size);
  for (std::size_t i = 0; i < size; ++i) apart[i] = other.means[i] - means[i];
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j)
      products[i * size + j] += other.products[i * size + j] + apart[i] * apart[j] * weight;
  for (std::size_t i = 0; i < size; ++i) means[i] += apart[i] * other.count / all;
  count = all;
}

double FrechetDistance::value() const {
  mean("frechet distance", 0, std::min(made.count, real.count));
  require<ArgumentError>(made.count >= 2 && real.count >= 2,
                         "frechet distance: one point does not vary; there must be two of each kind");
  require<ShapeError>(made.means.size() == real.means.size(), "frechet distance: ", made.means.size(), " features of ",
                      "generated and ", real.means.size(), " of real images");
  const NoGrad pause;
  double apart = 0;
  for (std::size_t i = 0; i < made.means.size(); ++i) apart += std::pow(made.means[i] - real.means[i], 2);
  const Tensor<2> a = covariance(made), b = covariance(real);
  // A B has the eigenvalues of A^(1/2) B A^(1/2), which is symmetric.
  const auto [w, v] = eigh(a);
  const Tensor<2> root = (v * roots(w).unsqueeze(0)).matmul(v.transpose());
  const double both = roots(eigvalsh(root.matmul(b).matmul(root))).sum().item<double>();
  return apart + a.trace().item<double>() + b.trace().item<double>() - 2 * both;
}

}  // namespace kiln::metric
