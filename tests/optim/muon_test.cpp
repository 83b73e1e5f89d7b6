// Muon's iteration of matrices that are much longer than wide, which goes through small matrices, against the plain one.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kiln/optim.hpp"

namespace kiln {
namespace {

using Matrix = std::vector<double>;  // rows of numbers

/// Rows of a wave, each a little off the one before: the smallest singular value is some thousandth of the largest.
Matrix wave(std::int64_t rows, std::int64_t columns) {
  Matrix x;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      x.push_back(std::sin(0.37 * static_cast<double>(j) + 0.3 * static_cast<double>(i)) +
                  0.002 * std::cos(1.9 * static_cast<double>(i * j)));
  return x;
}

/// x (a + b xᵀx + c (xᵀx)²) five times, x divided by its norm at first.
Matrix iterated(Matrix x, std::int64_t rows, std::int64_t columns) {
  const auto at = [](std::int64_t i, std::int64_t j, std::int64_t width) {
    return static_cast<std::size_t>(i * width + j);
  };
  const auto product = [&](const Matrix& p, const Matrix& q, std::int64_t n, std::int64_t k, std::int64_t m) {
    Matrix r(static_cast<std::size_t>(n * m), 0.0);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t l = 0; l < k; ++l)
        for (std::int64_t j = 0; j < m; ++j) r[at(i, j, m)] += p[at(i, l, k)] * q[at(l, j, m)];
    return r;
  };
  double squares = 0;
  for (const double value : x) squares += value * value;
  for (double& value : x) value /= std::sqrt(squares);
  for (int times = 0; times < 5; ++times) {
    Matrix turned(x.size());
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) turned[at(j, i, rows)] = x[at(i, j, columns)];
    const Matrix once = product(product(x, turned, rows, columns, rows), x, rows, rows, columns);
    const Matrix twice = product(product(x, turned, rows, columns, rows), once, rows, rows, columns);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 3.4445 * x[i] - 4.775 * once[i] + 2.0315 * twice[i];
  }
  return x;
}

struct Net {
  nn::Param<2> weight;
};

/// What a step of rate 1 takes from a parameter of zeros, by the rule without momentum.
std::vector<double> step_down(const Matrix& gradient, const Shape& shape, DType dtype) {
  const Device device = Device::cpu().autodiff();
  Net net{nn::Param<2>(zeros(shape, device, dtype))};
  Muon muon =
      MuonConfig{.momentum = 0, .weight_decay = 0, .nesterov = false, .scale = MuonConfig::Scale::Spectral}.init(net);
  GradientsParams grads;
  grads.by_path["weight"] = cast(from_data(TensorData::of<double>(shape, gradient), device), dtype);
  net = muon.step(1, std::move(net), grads);
  std::vector<double> step = net.weight.to_vector<double>();
  const double scale = std::sqrt(static_cast<double>(shape[0]) / static_cast<double>(shape[1]));
  for (double& value : step) value /= -scale;
  return step;
}

double worst(const Matrix& a, const Matrix& b) {
  if (a.size() != b.size()) return INFINITY;
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

TEST(Muon, IteratesLongMatricesAsAllOthers) {
  for (const std::int64_t length : {12, 23, 24, 200}) {  // from 24 on they count as long
    const Matrix x = wave(8, length), expected = iterated(x, 8, length);
    EXPECT_LT(worst(step_down(x, {8, length}, DType::F64), expected), 1e-11) << length;
    EXPECT_LT(worst(step_down(x, {8, length}, DType::F32), expected), 1e-3) << length;
  }
}

TEST(Muon, IteratesTallMatricesAsWideOnes) {
  const Matrix x = wave(8, 40), expected = iterated(x, 8, 40);
  Matrix tall(x.size()), turned(x.size());
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t j = 0; j < 40; ++j) tall[j * 8 + i] = x[i * 40 + j], turned[j * 8 + i] = expected[i * 40 + j];
  EXPECT_LT(worst(step_down(tall, {40, 8}, DType::F64), turned), 1e-11);
}

}  // namespace
}  // namespace kiln
