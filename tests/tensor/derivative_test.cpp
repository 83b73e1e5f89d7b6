// Derivatives of functions against central differences, closed forms and each other.
#include "kiln/tensor/function/derivative.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/tensor/activation.hpp"
#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/gradient.hpp"

#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

Tensor<1> list(std::initializer_list<double> numbers) { return Tensor<1>::of(numbers, Device::cpu(), DType::F64); }

const Tensor<2>& matrix() {
  static const Tensor<2> w = Tensor<2>::of({{1, -2, 0.5}, {0.3, 1, 2}}, Device::cpu(), DType::F64);
  return w;
}
/// From three numbers to two.
Tensor<1> curve(const Tensor<1>& x) {
  return matrix().matmul((x.sin() * x.sum()).unsqueeze(-1)).squeeze(-1).tanh() + (x * x).softmax(0).max();
}

void expect_near(const auto& actual, const auto& expected, double tolerance) {
  EXPECT_EQ(difference(actual.data(), expected.data(), {tolerance, tolerance}), "");
}

TEST(Jvp, IsTheDerivativeAlongADirection) {
  const Tensor<1> x = list({0.3, -0.2, 0.9}), direction = list({1, 0.5, -2});
  const auto [y, dy] = jvp(curve, x, direction);
  expect_near(y, curve(x), 0);
  const double h = 1e-6;
  expect_near(dy, (curve(x + direction * h) - curve(x - direction * h)) / (2 * h), 1e-8);
  EXPECT_FALSE(y.tracked() || dy.tracked());
}

TEST(Vjp, IsTheGradientOfAWeightedSum) {
  const Tensor<1> x = list({0.3, -0.2, 0.9}), seed = list({2, -1});
  const auto [y, slope] = vjp(curve, x, seed);
  expect_near(y, curve(x), 0);
  // seed . jvp(direction) = vjp(seed) . direction
  const Tensor<1> direction = list({1, 0.5, -2});
  expect_near((slope * direction).sum(), (jvp(curve, x, direction).derivative * seed).sum(), 1e-12);
}

TEST(Jacobian, HasTheDirectionalDerivativesAsColumns) {
  const Tensor<1> x = list({0.3, -0.2, 0.9});
  const Tensor<2> j = jacobian(curve, x);
  EXPECT_EQ(j.shape(), (Shape{2, 3}));
  for (int k = 0; k < 3; ++k) {
    std::vector<double> unit(3);
    unit[static_cast<std::size_t>(k)] = 1e-6;
    const Tensor<1> step = Tensor<1>::of(unit, Device::cpu());
    expect_near(Tensor<1>(Typed{at(j.value(), 1, k)}), (curve(x + step) - curve(x - step)) / 2e-6, 1e-8);
  }
}

TEST(Jacobian, HasAllDimensionsOfBoth) {
  const Tensor<2> x = Tensor<2>::of({{1, 2}, {3, 4}}, Device::cpu());
  const Tensor<3> j = jacobian([](const Tensor<2>& a) { return a.square().sum(1); }, x);
  EXPECT_EQ(j.to_vector(), (std::vector<float>{2, 4, 0, 0, 0, 0, 6, 8}));
  EXPECT_EQ(jacobian([](const Tensor<2>& a) { return a.sum(0); }, zeros({0, 2}, Device::cpu())).shape(),
            (Shape{2, 0, 2}));
}

TEST(Hessian, HasTheSecondDerivatives) {
  const auto f = [](const Tensor<1>& x) { return curve(x).square().sum() + x.exp().prod(); };
  const Tensor<1> x = list({0.3, -0.2, 0.9});
  const Tensor<2> h = hessian(f, x);
  const auto slope = [&](const Tensor<1>& at) {
    return vjp(f, at, full({}, 1.0, Device::cpu(), DType::F64)).derivative;
  };
  for (int k = 0; k < 3; ++k) {
    std::vector<double> unit(3);
    unit[static_cast<std::size_t>(k)] = 1e-5;
    const Tensor<1> step = Tensor<1>::of(unit, Device::cpu());
    expect_near(Tensor<1>(Typed{at(h.value(), 0, k)}), (slope(x + step) - slope(x - step)) / 2e-5, 1e-7);
  }
  expect_near(h, h.transpose(), 1e-12);
}

TEST(Derivatives, AreZeroWhereNothingDepends) {
  const Tensor<1> x = list({1, 2});
  const auto constant = [](const Tensor<1>&) { return list({3, 4, 5}); };
  EXPECT_EQ(jvp(constant, x, x).derivative.to_vector<double>(), (std::vector<double>(3)));
  EXPECT_EQ(vjp(constant, x, list({1, 1, 1})).derivative.to_vector<double>(), (std::vector<double>(2)));
  EXPECT_EQ(jacobian(constant, x).to_vector<double>(), (std::vector<double>(6)));
  const auto linear = [](const Tensor<1>& a) { return a.sum(); };
  EXPECT_EQ(hessian(linear, x).to_vector<double>(), (std::vector<double>(4)));
  EXPECT_EQ(jvp([](const Tensor<1>& a) { return a * 3; }, x, x).derivative.to_vector<double>(),
            (std::vector<double>{3, 6}));
}

TEST(Derivatives, AreDifferentiableAgainWhereXIsTracked) {
  const Tensor<1> x = Tensor<1>::of({0.5, 2}, test::autodiff, DType::F64).require_grad();
  const auto cube = [](const Tensor<1>& a) { return a.cube(); };
  const BackwardOptions again{.create_graph = true};
  const Tensor<1> ones = list({1, 1});
  EXPECT_EQ(grad(jvp(cube, x, ones, again).derivative, x).to_vector<double>(), (std::vector<double>{3, 12}));
  EXPECT_EQ(grad(vjp(cube, x, ones, again).derivative, x).to_vector<double>(), (std::vector<double>{3, 12}));
  EXPECT_EQ(grad(jacobian(cube, x, again), x).to_vector<double>(), (std::vector<double>{3, 12}));
  const auto total = [](const Tensor<1>& a) { return a.cube().sum(); };
  EXPECT_EQ(grad(hessian(total, x, again), x).to_vector<double>(), (std::vector<double>{6, 6}));
}

TEST(Derivatives, RefuseWhatFitsNothing) {
  const Tensor<1> x = list({1, 2}), three = list({1, 2, 3});
  const auto same = [](const Tensor<1>& a) { return a * 1.0; };
  EXPECT_EQ(sentence_of([&] { return jvp(same, x, three).derivative; }),
            "ShapeError: jvp: the direction is float64 [3], and must have the shape [2]");
  EXPECT_EQ(sentence_of([&] { return vjp(same, x, three).derivative; }),
            "ShapeError: vjp: the seed is float64 [3], and must have the shape [2]");
  const NoGrad no_grad;
  EXPECT_EQ(sentence_of([&] { return jacobian(same, x); }),
            "AutodiffError: jacobian: a NoGrad scope is open, in which nothing has a derivative");
}

}  // namespace
}  // namespace kiln
