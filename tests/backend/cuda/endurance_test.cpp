// Long trainings, shortages in the midst of one, and threads beside each other, on "cuda". The fake library multiplies, and its
// other kernels do nothing: there it is the books that are looked at, and numbers where there is a GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "kiln/autodiff/backward.hpp"
#include "kiln/collective/thread_ranks.hpp"
#include "kiln/ops/devices.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/backend/cuda/machine.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::cuda::test {
namespace {

Value numbers(const Shape& shape, double seed, const Device& device) {
  std::vector<float> all;
  for (std::int64_t i = 0; i < numel(shape); ++i)
    all.push_back(static_cast<float>(std::sin(seed + 1.3 * static_cast<double>(i % 1009))));
  return from_data(TensorData::of<float>(shape, all), device);
}

/// Two layers, of which each step makes new weights.
struct Training {
  Device device;
  Value first, second, x = numbers({32, 24}, 1, device), target = numbers({32, 8}, 2, device);
  explicit Training(const Device& on)
      : device(on),
        first((numbers({24, 48}, 3, on) * 0.2).require_grad()),
        second((numbers({48, 8}, 4, on) * 0.2).require_grad()) {}
  Value step() {
    const Value loss = mean(square(matmul(tanh(matmul(x, first)), second) - target));
    const Gradients grads = backward(loss);
    first = (first.detach() - grads.of(first) * 0.1).require_grad();
    second = (second.detach() - grads.of(second) * 0.1).require_grad();
    return loss.detach();
  }
};

TEST(CudaEndurance, KeepsMemoryFlatOverAThousandSteps) {
  KILN_NEEDS_DEVICE();
  KILN_NEEDS_COMPILER();
  const Device device = Device::cuda();
  Training training(device.autodiff());
  std::int64_t in_use = 0, reserved = 0, requests = 0;
  std::size_t taken = 0;
  float early = 0, late = 0;
  for (int step = 0; step < 1000; ++step) {
    const Value loss = training.step();
    if (step % 100 != 99) continue;
    const float now = loss.data().to_vector<float>()[0];
    device.sync();
    const MemoryStatistics memory = device.memory();
    if (step == 99) {
      in_use = memory.in_use;
      reserved = memory.reserved;
      requests = memory.system_requests;
      if (const auto fake = fake_state()) taken = fake->taken;
      early = now;
    }
    EXPECT_EQ(memory.in_use, in_use) << step;
    EXPECT_EQ(memory.reserved, reserved) << step;
    EXPECT_EQ(memory.system_requests, requests) << step;
    if (const auto fake = fake_state()) { EXPECT_EQ(fake->taken, taken) << step; }
    late = now;
  }
  if (!fake_state()) { EXPECT_LT(late, early); }
}

TEST(CudaEndurance, GoesOnAfterAStepFoundNoRoom) {
  KILN_NEEDS_DEVICE();
  KILN_NEEDS_COMPILER();
  const Device device = Device::cuda();
  Training training(device.autodiff()), undisturbed(device.autodiff());
  for (int step = 0; step < 3; ++step) {
    (void)training.step();
    (void)undisturbed.step();
  }
  device.sync();
  const std::int64_t limit = device.memory().limit;
  device.release_memory();
  const std::int64_t before = device.memory().in_use;
  device.set_memory_limit(before + (std::int64_t{8} << 20));
  const Value wide = numbers({2048, 24}, 5, device);
  for (int times = 0; times < 3; ++times)
    EXPECT_EQ(sentence_of([&] {
                const Value large = exp(matmul(matmul(wide, training.first.detach()), numbers({48, 4096}, 6, device)));
                return sum(large).data();
              }).find("MemoryError: "),
              0u);
  const std::vector<float> next = training.step().data().to_vector<float>();
  device.set_memory_limit(limit);
  if (!fake_state()) { EXPECT_EQ(next, undisturbed.step().data().to_vector<float>()); }
}

// Products alone, which the fake library makes as well.
std::vector<float> chain(const Device& device, double seed) {
  Value x = numbers({16, 16}, seed, device);
  const Value w = numbers({16, 16}, seed + 1, device);
  for (int i = 0; i < 30; ++i) {
    x = matmul(x, w);
    if (i % 3 == 2) x = numbers({16, 16}, seed + i + static_cast<double>(x.data().to_vector<float>()[0] > 0), device);
  }
  return matmul(x, w).data().to_vector<float>();
}

TEST(CudaEndurance, ServesThreadsSideBySide) {
  KILN_NEEDS_DEVICE();
  KILN_NEEDS_COMPILER();
  std::vector<std::vector<float>> alone, together(4);
  for (int i = 0; i < 4; ++i) alone.push_back(chain(Device::cuda(), 10.0 * i));
  // Two on one device, two with streams of work of their own.
  const std::vector<Device> devices{Device::cuda(), Device::cuda(), another(Device::cuda()), another(Device::cuda())};
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 4; ++i)
      threads.emplace_back([&, i] { together[i] = chain(devices[i], 10.0 * static_cast<double>(i)); });
  }
  EXPECT_EQ(together, alone);
}

}  // namespace
}  // namespace kiln::cuda::test
