// An operation of one's own: what comes out, what it is made of, and perhaps its gradient.
#include <cmath>

#include <gtest/gtest.h>

#include "kiln/kiln.hpp"

using namespace kiln;

struct Swish {
  double beta = 1;
  Desc infer(Inputs in) const { return like(in[0]); }
  Value expand(Inputs in) const { return in[0] * sigmoid(beta * in[0]); }
};

TEST(CustomOp, DifferentiatesThroughWhatItIsMadeOf) {
  auto device = Device::best().autodiff();
  auto x = Tensor<1>::of({-1, 0.5, 2}, device).require_grad();
  Tensor<1> y = custom(Swish{.beta = 1.5}, x);
  const auto values = y.to_vector<double>(), slopes = y.sum().backward().of(x).to_vector<double>();
  for (const auto& [i, at] : {std::pair{0, -1.0}, {1, 0.5}, {2, 2.0}}) {
    const double gate = 1 / (1 + std::exp(-1.5 * at));
    EXPECT_NEAR(values[static_cast<std::size_t>(i)], at * gate, 1e-6);
    EXPECT_NEAR(slopes[static_cast<std::size_t>(i)], gate + at * 1.5 * gate * (1 - gate), 1e-6);
  }
}

/// Rounds forward, and lets gradients through as if it did not.
struct StraightThroughRound {
  Desc infer(Inputs in) const { return like(in[0]); }
  Value expand(Inputs in) const { return round(in[0]); }
  Values vjp(Inputs, Inputs, Inputs grad) const { return {grad[0]}; }
};

TEST(CustomOp, MayBringItsOwnGradient) {
  auto x = Tensor<1>::of({0.2, 1.7}, Device::best().autodiff()).require_grad();
  auto y = custom(StraightThroughRound{}, x);
  EXPECT_EQ(to_text(y), "[0. 2.]");
  EXPECT_EQ(to_text((y * 3).sum().backward().of(x)), "[3. 3.]");
}

/// Mean and largest element.
struct Summary {
  Descs infer(Inputs in) const { return {Desc{{}, in[0].dtype()}, Desc{{}, in[0].dtype()}}; }
  Values expand(Inputs in) const { return {mean(in[0]), max(in[0])}; }
};

TEST(CustomOp, MayHaveSeveralResultsOfAnyRank) {
  auto x = Tensor<2>::of({{1, 2}, {3, 6}}, Device::best());
  const Values results = custom_all(Summary{}, x);
  EXPECT_EQ(Tensor<0>(results[0]).item(), 3);
  EXPECT_EQ(Tensor<0>(results[1]).item(), 6);
}
