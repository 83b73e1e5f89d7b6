// "rocm", with AMD's libraries or those that stand in (hip_on_cuda.cpp).
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "kiln/backend/gpu/kernel/builder.hpp"
#include "kiln/backend/rocm/driver.hpp"
#include "kiln/ops/devices.hpp"
#include "tests/backend/cuda/fake_driver.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::rocm {
namespace {

/// Why there is no device; empty where there is one.
std::string missing_device() {
  try {
    return device_count() > 0 ? "" : "HIP sees no GPU";
  } catch (const Error& error) { return error.what(); }
}
std::string missing_compiler() {
  try {
    return (void)hiprtc(), "";
  } catch (const Error& error) { return error.what(); }
}

#define KILN_NEEDS_HIP() \
  if (const std::string why = missing_device(); !why.empty()) GTEST_SKIP() << "no GPU: " << why

Driver& driver() {
  static const Ref<Driver>& driver = *new Ref<Driver>(make_ref<Driver>(0));
  return *driver;
}

gpu::Kernel scale_kernel(std::string_view name) {
  gpu::Builder k(name, 128);
  const gpu::Buffer y = k.output(DType::F32), x = k.input(DType::F32);
  const gpu::Expr count = k.number(DType::I64), factor = k.number(DType::F32);
  const gpu::Expr i = k.block().as(DType::I64) * 128 + k.thread().as(DType::I64);
  k.when(i < count, [&] { y.store(i, x[i] * factor); });
  return k.finish();
}

/// Nothing where the driver below is a real one.
std::optional<FakeState> fake_state() {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  const auto state =
      library ? reinterpret_cast<decltype(&kiln_fake_state)>(::dlsym(library, "kiln_fake_state")) : nullptr;
  return state ? std::optional(state()) : std::nullopt;
}

TEST(RocmArchitecture, IsFoundBehindTheDevicesName) {
  std::vector<char> properties(1472);
  EXPECT_EQ(architecture_in(properties), "");
  const auto write = [&](std::size_t at, std::string_view words) {
    std::ranges::copy(words, properties.begin() + std::ptrdiff_t(at));
  };
  write(0, "gfx1036");  // some devices are called like their architecture
  EXPECT_EQ(architecture_in(properties), "");
  write(396, "gfx90a:sramecc+:xnack-");  // ROCm 5.2
  EXPECT_EQ(architecture_in(properties), "gfx90a:sramecc+:xnack-");
  EXPECT_EQ(architecture_in(std::span(properties).first(400)), "gfx9");  // it ends with the bytes
  EXPECT_EQ(architecture_in(std::span(properties).first(200)), "");
}

TEST(RocmDevice, IsListedWhereThereIsOne) {
  const bool there = missing_device().empty() && missing_compiler().empty();
  const std::vector<std::string> names = device_names();
  EXPECT_EQ(std::ranges::find(names, "rocm") != names.end(), there);
}

TEST(RocmDevice, SaysWhatIsMissing) {
  if (missing_device().empty()) GTEST_SKIP() << "nothing is missing";
  const std::string said = sentence_of([] { return Device::parse("rocm"); });
  EXPECT_EQ(said.find("DeviceError: "), 0u) << said;
  EXPECT_TRUE(said.find("install AMD's ROCm") != said.npos || said.find("0 GPUs that HIP sees") != said.npos) << said;
}

TEST(RocmDriver, SaysWhatTheDeviceHas) {
  KILN_NEEDS_HIP();
  EXPECT_EQ(driver().name(), "rocm");
  const gpu::Capabilities& has = driver().capabilities();
  EXPECT_GE(has.multiprocessors, 1);
  EXPECT_GE(has.memory, 64 << 20);
  EXPECT_TRUE(has.lanes == gpu::Lanes(32, 32) || has.lanes == gpu::Lanes(64, 64));
  EXPECT_EQ(kind_of_device("rocm"), DeviceKind::Discrete);
  EXPECT_EQ(sentence_of([] { return Device::parse("rocm:63"); }),
            text("DeviceError: no device 'rocm:63': this machine has ", device_count(),
                 device_count() == 1 ? " GPU" : " GPUs", " that HIP sees"));
}

TEST(RocmDriver, CopiesBytesUpDownAndAround) {
  KILN_NEEDS_HIP();
  std::vector<std::byte> source(100001), to(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7 + i / 256);
  std::byte* const a = driver().memory().map(source.size());
  std::byte* const b = driver().memory().map(source.size());
  driver().upload(a, source);
  driver().clear(b, source.size());
  driver().copy(b + 1, a + 1, source.size() - 1);
  driver().download(b, to.size())->wait(to.data());
  source[0] = std::byte{0};
  EXPECT_EQ(to, source);
  EXPECT_TRUE(driver().memory().unmap(a, source.size()));
  EXPECT_TRUE(driver().memory().unmap(b, source.size()));
}

TEST(RocmDriver, LaunchesKernels) {
  KILN_NEEDS_HIP();
  constexpr std::int64_t kCount = 1000;
  std::vector<float> numbers(kCount), results(kCount);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  std::byte* const x = driver().memory().map(kCount * sizeof(float));
  std::byte* const y = driver().memory().map(kCount * sizeof(float));
  driver().upload(x, std::as_bytes(std::span(numbers)));
  const Ref<gpu::Code> code = driver().compile(scale_kernel("scale"));
  const float factor = 2.5f;
  std::uint64_t word = 0;
  std::memcpy(&word, &factor, sizeof(factor));
  const std::uint64_t arguments[] = {reinterpret_cast<std::uintptr_t>(y), reinterpret_cast<std::uintptr_t>(x), kCount,
                                     word};
  // Four times the same: where there are graphs, it would become one.
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 5; ++i) driver().launch(*code, 8, arguments);
    driver().flush();
  }
  driver().download(y, kCount * sizeof(float))->wait(reinterpret_cast<std::byte*>(results.data()));
  if (const auto fake = fake_state()) {
    EXPECT_EQ(fake->graphs, 0);
    EXPECT_STREQ(fake->last_launch.name, "kiln_scale");
    EXPECT_EQ(fake->last_launch.blocks, 8u);
    EXPECT_EQ(fake->last_launch.threads, 128u);
    EXPECT_EQ(fake->last_launch.first_argument, arguments[0]);
  } else {
    for (std::size_t i = 0; i < results.size(); ++i) ASSERT_EQ(results[i], numbers[i] * factor) << i;
  }
  driver().memory().unmap(x, 0);
  driver().memory().unmap(y, 0);
}

TEST(RocmDriver, HasNoMemoryBeyondTheDevices) {
  KILN_NEEDS_HIP();
  EXPECT_EQ(driver().memory().map(std::size_t{1} << 46), nullptr);
}

TEST(RocmCompiler, SaysWhatIsWrongWithAText) {
  if (const std::string why = missing_compiler(); !why.empty()) GTEST_SKIP() << why;
  constexpr const char* kOptions[] = {"--offload-arch=gfx90a"};
  const std::string said = sentence_of([&] { return hiprtc().compile("dud", "#error not today\n", kOptions); });
  EXPECT_EQ(said.find("DeviceError: rocm: kernel dud does not compile: "), 0u) << said;
  EXPECT_NE(said.find("#error"), said.npos) << said;
  EXPECT_NE(said.find("1: #error not today"), said.npos) << said;
}

}  // namespace
}  // namespace kiln::rocm
