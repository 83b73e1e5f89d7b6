// Operations run when a value is read, and give what they would have given at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "kiln/autodiff/backward.hpp"
#include "kiln/fusion/segment.hpp"
#include "kiln/ops/op.hpp"
#include "tests/fusion/fused_device.hpp"

namespace kiln::test {
namespace {

std::vector<float> floats(const Value& value) { return value.data().to_vector<float>(); }

/// A little of everything: broadcasting, types, choices, views of views, reductions.
Values mixed(const Device& device) {
  const Value x = reshape(arange(0.0, 24.0, 1.0, device, DType::F32), {2, 3, 4}) * 0.25 - 2;
  const Value bias = arange(1, 5, 1, device, DType::F32);
  const Value y = where(gt(x, 0), x * bias, exp(x));
  const Value turned = permute(reshape(y + 1, {6, 4}), {1, 0});
  const Value whole = cast(y, DType::I32) * 3 + cast(gt(y, 1), DType::I32);
  const Value mean_of = mean(square(turned), {1}, true);
  return {y, turned * mean_of, whole, sum(cast(x, DType::F64) / 3), cast(x, DType::BF16) + 1.0};
}

// What a long segment holds on to decides when it runs by itself.
TEST(Recording, CountsTheOperandsThatItKeepsAlive) {
  const Device device = Device::parse("cpu");
  Value a = from_data(TensorData({100}, DType::F32), device), b = from_data(TensorData({7}, DType::F64), device);
  fusion::Segment segment;
  const auto append = [&](const op::Op& op, std::vector<Value> in, const Desc& result) {
    std::vector<Value> out{Value(make_ref<Node>(result, device))};
    segment.append(op, Call{in, out});
    return out[0];
  };
  const Value sum = append(op::Gcd{}, {a, a}, {{100}, DType::F32});
  EXPECT_EQ(segment.bytes(), 400);
  append(op::Gcd{}, {b, 2.0}, {{7}, DType::F64});
  EXPECT_EQ(segment.bytes(), 456);
  append(op::Gcd{}, {sum, a}, {{100}, DType::F32});  // neither is new
  EXPECT_EQ(segment.bytes(), 456);
  segment.clear();
  EXPECT_EQ(segment.bytes(), 0);
}

TEST(Recording, GivesTheBitsOfTheBackendAlone) {
  const FusedDevice fused;
  const Values later = mixed(fused.device), at_once = mixed(Device::cpu());
  for (std::size_t i = 0; i < later.size(); ++i) {
    const TensorData a = later[i].data(), b = at_once[i].data();
    EXPECT_TRUE(std::ranges::equal(a.bytes(), b.bytes())) << i;
  }
}

TEST(Recording, RunsNothingBeforeSomebodyReads) {
  const FusedDevice fused;
  const Value x = fused.of({4});
  const Value y = exp(x) + 1;
  EXPECT_EQ(fused.counter->runs, 0);
  EXPECT_EQ(floats(y)[0], 2.0f);
  EXPECT_GT(fused.counter->runs, 0);
}

TEST(Recording, ReadsInTheMiddleOfAChain) {
  const FusedDevice fused;
  const Value x = fused.of({3}, 1.0);
  const Value y = x * 2;
  EXPECT_EQ(floats(y), (std::vector<float>{0, 2, 4}));
  const Value z = y + x;
  EXPECT_EQ(floats(z), (std::vector<float>{0, 3, 6}));
  EXPECT_EQ(floats(y * z), (std::vector<float>{0, 6, 24}));
}

TEST(Recording, TakesSegmentsOfOneAndOfAHundredThousand) {
  const FusedDevice fused;
  Value y = full({2}, 0.0, fused.device);
  EXPECT_EQ(floats(y)[0], 0);
  for (int i = 0; i < 100'000; ++i) y = y + 1;
  EXPECT_EQ(floats(y), (std::vector<float>{100'000, 100'000}));
}

TEST(Recording, TakesTwoThreadsOnOneDevice) {
  const FusedDevice fused;
  const Value shared = fused.of({64}, 1.0);
  std::vector<double> sums(2);
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 200; ++round) {
        Value y = shared * (t + 1);
        for (int i = 0; i < 10; ++i) y = y + shared;
        sums[static_cast<std::size_t>(t)] = sum(y).item();
      }
    });
  for (std::thread& thread : threads) thread.join();
  const double once = 63.0 * 64 / 2;
  EXPECT_EQ(sums[0], 11 * once);
  EXPECT_EQ(sums[1], 12 * once);
}

TEST(Recording, KeepsTwoDevicesApart) {
  const FusedDevice a, b;
  const Value x = a.of({2}, 1.0) + 1, y = b.of({2}, 1.0) + 2;
  EXPECT_THROW(x + y, DeviceError);
  EXPECT_EQ(floats(y), (std::vector<float>{2, 3}));
  EXPECT_EQ(a.counter->runs, 0);
  EXPECT_EQ(floats(to_device(x, b.device) + y), (std::vector<float>{3, 5}));
}

TEST(Recording, DifferentiatesLikeTheBackendAlone) {
  const auto gradient = [](const Device& device) {
    const Value x = (reshape(arange(0.0, 12.0, 1.0, device, DType::F32), {3, 4}) * 0.1).detach().require_grad();
    const Value loss = sum(tanh(matmul(x, transpose(x))) * 0.5);
    return floats(*backward(loss).find(x));
  };
  EXPECT_EQ(gradient(FusedDevice().device), gradient(Device::cpu().autodiff()));
}

TEST(Recording, SeesADeviceThroughItsOtherForm) {
  const FusedDevice fused;
  const Value x = fused.of({3}, 1.0) + 1;
  const Value plain = to_device(x, fused.device.inner());
  EXPECT_EQ(floats(plain * 2), (std::vector<float>{2, 4, 6}));
}

}  // namespace
}  // namespace kiln::test
