// Gradients of distribution functions are densities, whose logarithms are small sums of large terms.
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/special/special.hpp"

namespace kiln {
namespace {

using Function = Value (*)(const Value& parameter, const Value& x);

/// The slope at x, in float32.
double slope(Function function, double parameter, double x) {
  const Device on = Device::cpu().autodiff();
  const Value at = full({2}, x, on, DType::F32).require_grad();
  const Value y = sum(function(full({2}, parameter, Device::cpu(), DType::F32), at));
  return grad(y, {&at, 1})[0].data().at(0);
}

// The terms of Stirling's series for a = b = n and x = 1/2, and for a = x = n; what follows is less than 1 / n^2.
TEST(Densities, AreAccurateForHugeParameters) {
  constexpr double kPi = 3.14159265358979;
  for (const double n : {1e2, 1e4, 1e6, 1e7}) {
    const auto beta = [](const Value& a, const Value& x) { return betainc(a, a, x); };
    const auto gamma = [](const Value& a, const Value& x) { return igamma(a, x); };
    EXPECT_NEAR(slope(beta, n, 0.5) / (2 * std::sqrt(n / kPi) * (1 - 1 / (8 * n))), 1, 1e-5) << n;
    EXPECT_NEAR(slope(gamma, n, n) * std::sqrt(2 * kPi * n) / (1 - 1 / (12 * n)), 1, 1e-5) << n;
  }
}

}  // namespace
}  // namespace kiln
