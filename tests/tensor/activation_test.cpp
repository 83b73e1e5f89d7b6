// All activation functions as a user calls them, with figures by hand; proven in tests/ops/.
#include "kiln/tensor/activation.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/text/format.hpp"
#include "tests/support/devices.hpp"

namespace kiln {
namespace {

using test::best;

TEST(Activation, WithOptions) {
  const auto x = Tensor<2>::of({{-2, 0.25}, {1, 4}}, best());
  EXPECT_EQ(to_text(hardtanh(x)), "[[-1.    0.25]\n [ 1.    1.  ]]");
  EXPECT_EQ(to_text(hard_sigmoid(x, 0.25, 0.5)), "[[0.     0.5625]\n [0.75   1.    ]]");
  EXPECT_EQ(to_text(threshold(x, 0.5, -1)), "[[-1. -1.]\n [ 1.  4.]]");
  EXPECT_EQ(to_text(shrink(x, 0.5, 0.25)), "[[-1.75  0.  ]\n [ 0.75  3.75]]");
  EXPECT_EQ(to_text(prelu(x, Tensor<1>::of({0.5, 9}, best()))), "[[-1.    0.25]\n [ 1.    4.  ]]");
  EXPECT_EQ(to_text(glu(x.square() * 0)), "[[0.]\n [0.]]");
  EXPECT_NEAR(softplus(x, 2).to_vector()[3], 4, 2e-4);
}

TEST(Activation, OfARow) {
  const auto x = Tensor<1>::of({0, std::log(3)}, best());
  const auto near = [](const Tensor<1>& y, float a, float b) {
    EXPECT_NEAR(y.to_vector()[0], a, 1e-6);
    EXPECT_NEAR(y.to_vector()[1], b, 1e-6);
  };
  near(softmax(x, 0), 0.25, 0.75);
  near(softmin(x, 0), 0.75, 0.25);
  near(log_softmax(x, 0), std::log(0.25f), std::log(0.75f));
  near(quiet_softmax(x, 0), 0.2f, 0.6f);
}

}  // namespace
}  // namespace kiln
