// "cuda" as programs see it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/ops/devices.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/backend/cuda/machine.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::cuda::test {
namespace {

bool is_listed() {
  const std::vector<std::string> names = device_names();
  return std::find(names.begin(), names.end(), "cuda") != names.end();
}

TEST(CudaDevice, IsTheBestWhereThereIsOne) {
  const bool there = missing_device().empty() && missing_compiler().empty();
  EXPECT_EQ(is_listed(), there);
  EXPECT_EQ(Device::best().name(), there ? "cuda" : "cpu");
}

TEST(CudaDevice, SaysWhatIsMissing) {
  const std::string why = !missing_compiler().empty() ? missing_compiler() : missing_device();
  if (why.empty()) GTEST_SKIP() << "nothing is missing";
  EXPECT_EQ(sentence_of([] { return Device::cuda(); }), why);
  EXPECT_EQ(sentence_of([] { return Device::parse("cuda:1"); }), why);
  EXPECT_EQ(
      sentence_of([] { return Device::parse("cuda:x"); }), "DeviceError: no device 'cuda:x'; there are: " + [] {
        std::vector<std::string> names = device_names();
        std::string all;
        for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
        return all;
      }());
}

TEST(CudaDevice, IsOneForEachNumber) {
  KILN_NEEDS_DEVICE();
  KILN_NEEDS_COMPILER();
  EXPECT_EQ(Device::cuda(), Device::parse("cuda"));
  EXPECT_EQ(Device::parse("cuda:0"), Device::cuda(0));
  const int count = device_count();
  EXPECT_EQ(sentence_of([&] { return Device::cuda(count); }),
            text("DeviceError: no device 'cuda:", count, "': this machine has ", count, count == 1 ? " GPU" : " GPUs",
                 " that the CUDA driver sees"));
  if (count > 1) { EXPECT_EQ(Device::cuda(1).name(), "cuda:1"); }
}

TEST(CudaDevice, KeepsTensors) {
  KILN_NEEDS_DEVICE();
  KILN_NEEDS_COMPILER();
  const Device device = Device::cuda();
  const std::int64_t before = device.memory().in_use;
  {
    const std::vector<float> numbers{1, 2, 3, 4, 5, 6};
    const Value x = from_data(TensorData::of<float>({2, 3}, numbers), device);
    EXPECT_EQ(x.device(), device);
    EXPECT_GE(device.memory().in_use, before + 24);
    EXPECT_EQ(x.data().to_vector<float>(), numbers);
  }
  device.sync();
  EXPECT_EQ(device.memory().in_use, before);
}

TEST(CudaDevice, GoesOnAfterItHadNoMemory) {
  KILN_NEEDS_DEVICE();
  KILN_NEEDS_COMPILER();
  const Device device = Device::cuda();
  const std::vector<float> numbers(1 << 20, 1.5f);
  const TensorData data = TensorData::of<float>({1 << 20}, numbers);
  const std::int64_t limit = device.memory().limit;
  device.set_memory_limit(16 << 20);
  std::vector<Value> held;
  std::string said;
  try {
    for (int i = 0; i < 100; ++i) held.push_back(from_data(data, device));
  } catch (const MemoryError& error) { said = error.what(); }
  EXPECT_EQ(
      said.find("MemoryError: cuda: a tensor float32 [1048576] needs 4194304 bytes (4 MiB), for which there is no "
                "room; "),
      0u)
      << said;
  EXPECT_GE(held.size(), 2u);
  held.pop_back();
  EXPECT_EQ(from_data(data, device).data().to_vector<float>(), numbers);
  held.clear();
  device.release_memory();
  device.set_memory_limit(limit);
  EXPECT_EQ(from_data(data, device).data().to_vector<float>(), numbers);
}

TEST(CudaDevice, TakesNoMoreMemoryThanTheEnvironmentSays) {
  KILN_NEEDS_DEVICE();
  ::setenv("KILN_MEMORY_LIMIT", "48M", 1);
  EXPECT_EQ(gpu::Gpu(make_ref<Driver>(0)).memory().limit, 48 << 20);
  ::setenv("KILN_MEMORY_LIMIT", "100T", 1);
  EXPECT_LT(gpu::Gpu(make_ref<Driver>(0)).memory().limit, std::int64_t{1} << 40);
  ::unsetenv("KILN_MEMORY_LIMIT");
}

}  // namespace
}  // namespace kiln::cuda::test
