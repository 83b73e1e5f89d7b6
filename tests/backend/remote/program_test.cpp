// Captured programs are sent once, and training through a server has the bits of training here.
#include <gtest/gtest.h>

#include "kiln/autodiff/backward.hpp"
#include "kiln/backend/capture/graph.hpp"
#include "kiln/ops/elementwise/rows.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/backend/remote/hosted_pair.hpp"

namespace kiln {
namespace {

Value ramp(const Device& device, const Shape& shape) {
  TensorData data(shape, DType::F32);
  float x = -1;
  for (float& each : data.as<float>()) each = x = 0.37f - 0.9f * x;
  return from_data(std::move(data), device);
}

TEST(Programs, AreSentOnceAndReplayedByNumber) {
  remote::Host host({Device::cpu()});
  const Device device = test::remote_device(host);
  const Value weight = ramp(device, {64, 64}), x = ramp(device, {8, 64});
  const Graph graph = capture_graph(
      [&](const Values& in) {
        Value y = in[0];
        for (int i = 0; i < 50; ++i) y = tanh(matmul(y, weight));
        return Values{y, sum(y)};
      },
      {&x, 1});
  const Values first = graph.replay({&x, 1});
  (void)first[1].data();
  const remote::ClientCounters before = test::remote_of(device).counters();
  const Values again = graph.replay({&x, 1});
  EXPECT_EQ(difference(again[0].data(), first[0].data(), {0, 0}), "");
  const remote::ClientCounters after = test::remote_of(device).counters();
  EXPECT_EQ(after.calls - before.calls, 1);
  EXPECT_LT(after.bytes_sent - before.bytes_sent, 100u);
  const Value here = ramp(Device::cpu(), {8, 64}), weight_here = ramp(Device::cpu(), {64, 64});
  Value y = here;
  for (int i = 0; i < 50; ++i) y = tanh(matmul(y, weight_here));
  EXPECT_EQ(difference(again[0].data(), y.data(), {0, 0}), "");
  EXPECT_EQ(again[1].item(), sum(y).item());
}

TEST(Programs, GoWithTheirGraphsAndKeepNoDevice) {
  remote::Host host({Device::cpu()});
  {
    const Device device = test::remote_device(host);
    const Value weight = ramp(device, {2, 2}), x = ramp(device, {2, 2});
    {
      const Graph graph = capture_graph([&](const Values& in) { return Values{matmul(in[0], weight)}; }, {&x, 1});
      (void)graph.replay({&x, 1})[0].data();
    }
    const Graph another = capture_graph([&](const Values& in) { return Values{in[0] + weight}; }, {&x, 1});
    EXPECT_EQ(difference(another.replay({&x, 1})[0].data(), (x + weight).data(), {0, 0}), "");
  }
  for (int i = 0; i < 500 && !host.counters().sessions.empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(host.counters().sessions.empty());
}

/// The weights after some steps of gradient descent on a small network, with dropout.
std::vector<TensorData> trained(const Device& plain) {
  const Device device = plain.autodiff();
  device.seed(3);
  Value first = ramp(device, {20, 32}).require_grad(), second = ramp(device, {32, 5}).require_grad();
  const Value x = ramp(device, {16, 20}), target = ramp(device, {16, 5});
  for (int step = 0; step < 12; ++step) {
    const Value mask = cast(lt(uniform({16, 32}, 0, 1, device), 0.8), DType::F32);
    const Value loss = mean(square(matmul(relu(matmul(x, first)) * mask, second) - target));
    const Gradients gradients = backward(loss);
    first = (first.detach() - 0.01 * gradients.of(first)).require_grad();
    second = (second.detach() - 0.01 * gradients.of(second)).require_grad();
    EXPECT_TRUE(std::isfinite(loss.item()));
  }
  return {first.data(), second.data()};
}

TEST(Training, HasTheBitsOfTrainingHere) {
  remote::Host host({Device::cpu()});
  const std::vector<TensorData> there = trained(test::remote_device(host)), here = trained(Device::cpu());
  for (std::size_t i = 0; i < here.size(); ++i) EXPECT_EQ(difference(there[i], here[i], {0, 0}), "");
}

}  // namespace
}  // namespace kiln
