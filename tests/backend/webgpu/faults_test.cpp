// What goes wrong, by a stand-in for WebGPU.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "kiln/backend/gpu/kernel/builder.hpp"
#include "kiln/backend/gpu/kernel/lower/lower.hpp"
#include "kiln/backend/gpu/kernel/refusal.hpp"
#include "kiln/core/error/trace.hpp"
#include "tests/backend/webgpu/stand_in.hpp"

namespace kiln::webgpu::test {
namespace {

template <class F>
std::string sentence_of(F&& f) {
  try {
    f();
  } catch (const Error& error) { return std::string(without_calls(error.what())); }
  return "no error";
}
#define EXPECT_SAYS(expression, ...)                                                               \
  do {                                                                                             \
    const std::string said = sentence_of([&] { expression; });                                     \
    for (const std::string_view part : {__VA_ARGS__})                                              \
      EXPECT_NE(said.find(part), std::string::npos) << "'" << part << "' is missing in: " << said; \
  } while (false)

Ref<Driver> driver_of(const Provider& provider) { return make_ref<Driver>(provider, request_adapter(provider)); }

/// A kernel that adds up so many buffers.
gpu::Kernel sum_of(int inputs) {
  gpu::Builder k("sum", 128);
  std::vector<gpu::Buffer> all;
  for (int i = 0; i < inputs; ++i) all.push_back(k.input(DType::F32));
  const gpu::Buffer y = k.output(DType::F32);
  const gpu::Expr i = k.place(DType::I32);
  gpu::Expr sum = all[0][i];
  for (int j = 1; j < inputs; ++j) sum = sum + all[static_cast<std::size_t>(j)][i];
  y.store(i, sum);
  return k.finish();
}
gpu::Kernel lowered_for(const Driver& driver, gpu::Kernel kernel) {
  return gpu::lowered(std::move(kernel), driver.capabilities());
}

std::uint64_t tensor(Driver& driver, std::size_t bytes) {
  std::byte* const start = driver.memory().map(bytes);
  driver.acquired(start, bytes);
  return address_of(start);
}

// ---- libraries -----------------------------------------------------------------------------------------------------

TEST(WebgpuFaults, NameTheLibraryThatIsMissing) {
  EXPECT_SAYS((void)open_provider("libno-such-webgpu.so"), "DeviceError: webgpu: there is no library",
              "libno-such-webgpu.so", "KILN_WEBGPU_LIBRARY");
}

TEST(WebgpuFaults, RefuseAVersionThatNobodyTried) {
  EXPECT_SAYS((void)open_provider(KILN_OLD_WEBGPU), "is wgpu-native 24.3.2.1", "wgpu-native 29", "Dawn of April 2025");
}

TEST(WebgpuFaults, RefuseALibraryOfSomethingElse) {
  EXPECT_SAYS((void)open_provider("libm.so.6"), "of an implementation that it does not tell", "wgpu-native 29");
}

// ---- adapters ------------------------------------------------------------------------------------------------------

TEST(WebgpuFaults, SayThatThereIsNoAdapter) {
  const Provider& provider = stand_in_provider();
  stand_in().has_adapter = false;
  EXPECT_SAYS((void)request_adapter(provider), "finds no GPU: no suitable adapter found", "mesa-vulkan-drivers");
}

TEST(WebgpuFaults, RefuseAnAdapterThatComputesNothing) {
  const Provider& provider = stand_in_provider();
  stand_in().backend = kNull;
  EXPECT_SAYS((void)request_adapter(provider), "an adapter that computes nothing");
}

TEST(WebgpuFaults, RefuseAnAdapterThatIsTooSmall) {
  const Provider& provider = stand_in_provider();
  stand_in().storage_buffers = 1;
  EXPECT_SAYS((void)request_adapter(provider), "has 1 buffers of 134217728 bytes", "less than any kernel needs");
}

TEST(WebgpuFaults, SayThatAnAdapterGivesNoDevice) {
  const Provider& provider = stand_in_provider();
  stand_in().gives_device = false;
  EXPECT_SAYS((void)driver_of(provider), "stand-in, by Vulkan gives no device: limits are beyond the adapter's");
}

// ---- kernels -------------------------------------------------------------------------------------------------------

TEST(WebgpuFaults, RefuseAKernelThatDoesNotCompile) {
  const Provider& provider = stand_in_provider();
  const Ref<Driver> driver = driver_of(provider);
  stand_in().compile_error = "line 7: unknown function frobnicate";
  const gpu::Kernel kernel = lowered_for(*driver, sum_of(2));
  EXPECT_SAYS((void)driver->compile(kernel), "kernel sum does not compile: line 7: unknown function frobnicate",
              "@compute @workgroup_size(128)");
  EXPECT_THROW((void)driver->compile(kernel), gpu::Refused);
  stand_in().compile_error.clear();
  EXPECT_NO_THROW((void)driver->compile(kernel));
  EXPECT_EQ(stand_in().open_scopes, 0);
}

TEST(WebgpuFaults, KeepWithinEightBuffers) {
  const Provider& provider = stand_in_provider();
  const Ref<Driver> driver = driver_of(provider);
  EXPECT_NO_THROW((void)driver->compile(lowered_for(*driver, sum_of(7))));
  EXPECT_SAYS((void)driver->compile(lowered_for(*driver, sum_of(8))), "webgpu: kernel sum: needs 9 buffers",
              "the device has 8");
}

TEST(WebgpuFaults, KeepWithinSharedMemory) {
  const Provider& provider = stand_in_provider();
  const Ref<Driver> driver = driver_of(provider);
  gpu::Builder k("wide", 128);
  const gpu::Buffer y = k.output(DType::F32);
  const gpu::Shared shared = k.shared(DType::F32, 5000);
  shared.store(k.thread(), k.literal(DType::F32, 1.0));
  y.store(k.thread(), shared[k.thread()]);
  EXPECT_SAYS((void)driver->compile(lowered_for(*driver, k.finish())), "20000 bytes of shared memory", "has 16384");
}

TEST(WebgpuFaults, RefuseALaunchOnMoreThanABinding) {
  const Provider& provider = stand_in_provider();
  stand_in().storage_bytes = 1 << 20;
  const Ref<Driver> driver = driver_of(provider);
  const Ref<gpu::Code> code = driver->compile(lowered_for(*driver, sum_of(1)));
  const std::uint64_t small = tensor(*driver, 1 << 20), large = tensor(*driver, 2 << 20);
  const std::uint64_t fits[] = {small, small}, exceeds[] = {small, large};
  EXPECT_NO_THROW(driver->launch(*code, 1, fits));
  EXPECT_SAYS(driver->launch(*code, 1, exceeds), "kernel sum: parameter 1 is a buffer of 2097152 bytes",
              "the device binds 1048576");
}

TEST(WebgpuFaults, RefuseAnAddressThatIsNobodys) {
  const Provider& provider = stand_in_provider();
  const Ref<Driver> driver = driver_of(provider);
  std::byte* const nowhere = reinterpret_cast<std::byte*>(std::uintptr_t{4096});
  EXPECT_SAYS((void)driver->download(nowhere, 16), "16 bytes at 4096 are in no buffer");
}

// ---- memory --------------------------------------------------------------------------------------------------------

TEST(WebgpuFaults, SayWhenThereIsNoRoom) {
  const Provider& provider = stand_in_provider();
  stand_in().room = 64 << 20;
  const Ref<Driver> driver = driver_of(provider);
  std::byte* const half = driver->memory().map(32 << 20);
  ASSERT_NE(half, nullptr);
  EXPECT_EQ(driver->memory().map(48 << 20), nullptr);
  EXPECT_TRUE(driver->memory().unmap(half, 32 << 20));
  EXPECT_NE(driver->memory().map(48 << 20), nullptr);
  EXPECT_SAYS((void)driver->memory().map(std::size_t{2} << 30), "a block of 2147483648 bytes is needed",
              "at most 1073741824");
}

// ---- loss ----------------------------------------------------------------------------------------------------------

TEST(WebgpuFaults, EndWaitsWhenTheDeviceIsLost) {
  const Provider& provider = stand_in_provider();
  const Ref<Driver> driver = driver_of(provider);
  const Ref<gpu::Code> code = driver->compile(lowered_for(*driver, sum_of(1)));
  const std::uint64_t x = tensor(*driver, 4096), y = tensor(*driver, 4096);
  const std::uint64_t arguments[] = {x, y};
  EXPECT_NO_THROW(driver->synchronize());
  driver->launch(*code, 1, arguments);
  stand_in().submits_until_loss = 0;
  EXPECT_SAYS(driver->synchronize(), "stand-in, by Vulkan: the device is lost: the cable was pulled");
  EXPECT_SAYS(driver->launch(*code, 1, arguments), "the cable was pulled");
  EXPECT_SAYS((void)driver->memory().map(4096), "the cable was pulled");
  EXPECT_SAYS((void)driver->compile(lowered_for(*driver, sum_of(2))), "the cable was pulled");
}

TEST(WebgpuFaults, EndAWaitThatHasBegun) {
  const Provider& provider = stand_in_provider();
  const Ref<Driver> driver = driver_of(provider);
  const std::uint64_t x = tensor(*driver, 4096);
  stand_in().answers = false;
  const Ref<gpu::Transfer> transfer = driver->download(reinterpret_cast<const std::byte*>(x), 4);
  EXPECT_FALSE(transfer->ready());
  std::atomic<bool> told = false;
  transfer->notify({[](void* to) { *static_cast<std::atomic<bool>*>(to) = true; }, &told});
  std::thread other([] { lose_device(); });
  std::byte word[4];
  EXPECT_SAYS(transfer->wait(word), "the cable was pulled");
  other.join();
  EXPECT_TRUE(transfer->ready());
  while (!told) std::this_thread::yield();
}

TEST(WebgpuFaults, TellWhatNoScopeCaught) {
  const Provider& provider = stand_in_provider();
  const Ref<Driver> driver = driver_of(provider);
  stand_in().submit_error = "kernel sum: a binding is too small";
  EXPECT_SAYS(driver->synchronize(), "kernel sum: a binding is too small");
  EXPECT_SAYS(driver->flush(), "kernel sum: a binding is too small");
}

TEST(WebgpuFaults, LeaveNothingBehind) {
  const Provider& provider = stand_in_provider();
  {
    const Ref<Driver> driver = driver_of(provider);
    const Ref<gpu::Code> code = driver->compile(lowered_for(*driver, sum_of(1)));
    const std::uint64_t x = tensor(*driver, 4096), y = tensor(*driver, 4096);
    const std::uint64_t apart[] = {x, y}, same[] = {x, x};
    driver->launch(*code, 1, apart);
    driver->launch(*code, 1, same);
    driver->synchronize();
    EXPECT_EQ(stand_in().dispatches, 2);
  }
  EXPECT_EQ(stand_in().objects, 0);
  EXPECT_EQ(stand_in().used, 0u);
}

}  // namespace
}  // namespace kiln::webgpu::test
