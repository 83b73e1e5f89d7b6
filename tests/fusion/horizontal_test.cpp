// Small steps that need nothing of each other are run as one call.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kiln/core/parallel.hpp"
#include "tests/fusion/fused_device.hpp"

namespace kiln::test {
namespace {

/// A step with momentum on each parameter.
struct Momentum {
  Values parameters, velocities;

  Momentum(const Device& device, std::initializer_list<Shape> shapes) {
    for (const Shape& shape : shapes) {
      const Value ramp = arange(1.0, static_cast<double>(numel(shape)) + 1, 1.0, device, DType::F32);
      parameters.push_back(reshape(ramp / 8, shape));
      velocities.push_back(zeros(shape, device));
    }
    device.sync();
  }
  void step() {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      velocities[i] = velocities[i] * 0.5 + parameters[i];
      parameters[i] = parameters[i] - velocities[i] * 0.25;
    }
  }
  /// Two steps take p, 0 to 0.75 p, p and then to 0.4375 p, 1.25 p: all exact.
  void expect_two_steps() const {
    for (const Value& parameter : parameters) {
      const std::vector<float> found = parameter.data().to_vector<float>();
      for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], 0.4375f * static_cast<float>(i + 1) / 8) << i;
    }
  }
};

TEST(SideBySide, GoTheParametersOfAnOptimizer) {
  const FusedDevice fused;
  Momentum momentum(fused.device, {{3, 5}, {5}, {}, {64, 64}, {2, 2, 2}, {7}});
  for (int i = 0; i < 2; ++i) {
    momentum.step();
    EXPECT_EQ(runs(fused), 1);
  }
  momentum.expect_two_steps();
}

TEST(SideBySide, GoBothPassesOfARuleWithANorm) {
  const FusedDevice fused;
  Values params;
  for (const std::int64_t size : {4, 16, 64, 256}) params.push_back(ones({size}, fused.device));
  fused.device.sync();
  for (Value& p : params) p = p * 3 / sqrt(sum(square(p * 3), {0}, true));
  EXPECT_EQ(runs(fused), 3);  // squares and their sums, roots, quotients
  for (const Value& p : params)
    for (const float x : p.data().to_vector<float>())
      EXPECT_EQ(x, static_cast<float>(1 / std::sqrt(static_cast<double>(p.numel()))));
}

TEST(SideBySide, GoNoLargeTensors) {
  const FusedDevice fused;
  Momentum momentum(fused.device, {{3, 5}, {5}, {300, 200}, {64}, {2}});
  for (int i = 0; i < 2; ++i) {
    momentum.step();
    EXPECT_EQ(runs(fused), 3);
  }
  momentum.expect_two_steps();
}

TEST(SideBySide, GoNoStepsThatNeedEachOther) {
  const FusedDevice fused;
  const Value x = fused.of({4, 4}), y = fused.of({4});
  fused.device.sync();
  const Value a = x * 2 + 1, b = max(a, {1}, false) * 3 + y, c = exp(y) + 1;
  EXPECT_GT(runs(fused), 2);
  for (std::size_t i = 0; i < 4; ++i) {
    const double row = 4 * static_cast<double>(i) + 3;  // of x's largest, in quarters
    EXPECT_EQ(b.data().at(static_cast<std::int64_t>(i)), (row / 4 * 2 + 1) * 3 + static_cast<double>(i) / 4);
  }
}

TEST(SideBySide, GoOtherTypesAndLoneOperations) {
  const FusedDevice fused;
  const Value whole = cast(fused.of({6}, 1), DType::I64), half = cast(fused.of({2, 2}, 0.5), DType::F16),
              wide = cast(fused.of({3}), DType::F64);
  fused.device.sync();
  const Value a = whole * 3 + 1, b = neg(half), c = wide * wide - wide;
  EXPECT_EQ(runs(fused), 1);
  EXPECT_EQ(a.data().to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 4, 7, 10, 13, 16}));
  EXPECT_EQ(b.data().to_vector<double>(), (std::vector<double>{0, -0.5, -1, -1.5}));
  EXPECT_EQ(c.data().to_vector<double>(), (std::vector<double>{0, -0.1875, -0.25}));
}

TEST(SideBySide, GoOnAnyNumberOfThreads) {
  const int before = num_threads();
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    const FusedDevice fused;
    Momentum momentum(fused.device, {{100, 100}, {100, 100}, {100, 100}, {100, 100}, {1}, {100, 100}, {90, 90}});
    momentum.step();
    momentum.step();
    momentum.expect_two_steps();
  }
  set_num_threads(before);
}

TEST(SideBySide, GoOnABackendWithoutFastKernels) {
  const Device device(make_ref<fusion::Fusion>(Device::parse("reference").handle()));
  Momentum momentum(device, {{3, 5}, {5}, {2}});
  momentum.step();
  momentum.step();
  momentum.expect_two_steps();
}

}  // namespace
}  // namespace kiln::test
