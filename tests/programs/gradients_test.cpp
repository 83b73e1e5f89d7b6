// Gradients are a value; the gradient of a gradient is written as it is thought.
#include <cmath>

#include <gtest/gtest.h>

#include "kiln/kiln.hpp"

using namespace kiln;

TEST(Gradients, OfALeafAreATensorLikeTheLeaf) {
  auto device = Device::best().autodiff();
  auto x = randn({8, 4}, device).require_grad();
  auto w = randn({4, 3}, device);
  auto target = randn({8, 3}, device);

  auto y = (x.matmul(w).tanh() - target).square().mean();
  Gradients g = y.backward();
  Tensor<2> dx = g.of(x);

  EXPECT_FALSE(g.find(w).has_value());
  // d/dx[i][k] = sum over j of 2 / 24 * (t - target) * (1 - t^2) * w[k][j], t = tanh(x w)
  const auto xs = x.to_vector<double>(), ws = w.to_vector<double>(), targets = target.to_vector<double>();
  const auto grads = dx.to_vector<double>();
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t k = 0; k < 4; ++k) {
      double expected = 0;
      for (std::size_t j = 0; j < 3; ++j) {
        double sum = 0;
        for (std::size_t l = 0; l < 4; ++l) sum += xs[i * 4 + l] * ws[l * 3 + j];
        const double t = std::tanh(sum);
        expected += 2.0 / 24 * (t - targets[i * 3 + j]) * (1 - t * t) * ws[k * 3 + j];
      }
      EXPECT_NEAR(grads[i * 4 + k], expected, 1e-5);
    }
}

TEST(Gradients, CanBeDifferentiatedAgain) {
  auto device = Device::best().autodiff();
  auto x = Tensor<1>::of({0.5, -1, 2}, device).require_grad();

  Tensor<1> dx = (x * x * x).sum().backward({.create_graph = true}).of(x);  // 3 x^2
  Tensor<1> ddx = dx.square().sum().backward().of(x);                       // d/dx 9 x^4 = 36 x^3

  EXPECT_EQ(to_text(dx), "[ 0.75  3.   12.  ]");
  EXPECT_EQ(to_text(ddx), "[  4.5 -36.  288. ]");
}

TEST(Gradients, FlowThroughWhatMixesTrackedAndConstantTensors) {
  auto device = Device::best().autodiff();
  auto x = Tensor<2>::of({{3, 1, 2}, {9, 8, 7}}, device).require_grad();
  auto [values, indices] = x.topk(2, 1);
  auto picked = x.mask_select(x > 7.5);
  auto loss = (values * Tensor<1>::of({1, 10}, device)).sum() + (picked * 100).sum() + x(1, 2) * 1000;

  EXPECT_EQ(to_text(loss.backward().of(x)), "[[   1.    0.   10.]\n [ 101.  110. 1000.]]");
  EXPECT_FALSE(indices.tracked());
  EXPECT_FALSE(x.detach().tracked());
}

TEST(Gradients, AreNotRecordedInsideNoGrad) {
  auto x = ones({2}, Device::best().autodiff()).require_grad();
  const NoGrad pause;
  EXPECT_FALSE((x * 2).tracked());
}
