// The driver on the machine's device, against the host. Skipped where there is no library of WebGPU or no adapter.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <system_error>
#include <thread>

#include "kiln/backend/gpu/kernel/builder.hpp"
#include "kiln/backend/gpu/kernel/lower/lower.hpp"
#include "kiln/backend/webgpu/driver.hpp"

namespace kiln::webgpu::test {
namespace {

using Bytes = std::vector<std::byte>;

class WebgpuDriver : public testing::Test {
 protected:
  static Driver* driver() {
    static const Ref<Driver> made = [] {
      try {
        return make_ref<Driver>(provider(), adapter());
      } catch (const Error& error) {
        std::printf("no device: %s\n", error.what());
        return Ref<Driver>();
      }
    }();
    return made.get();
  }
  void SetUp() override {
    if (!driver()) GTEST_SKIP() << "no device of WebGPU";
    for (std::byte*& each : blocks_) {
      each = driver()->memory().map(kBlock);
      driver()->acquired(each, kTensor);
    }
  }
  void TearDown() override {
    for (std::byte* const each : blocks_)
      if (each) {
        driver()->released(each, kTensor);
        driver()->memory().unmap(each, kBlock);
      }
  }
  static Bytes read(const std::byte* from, std::size_t bytes) {
    Bytes got(bytes);
    driver()->download(from, bytes)->wait(got.data());
    return got;
  }
  static Bytes pattern(std::size_t bytes, int seed) {
    Bytes made(bytes);
    for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(seed));
    return made;
  }
  static Ref<gpu::Code> compiled(gpu::Kernel kernel) {
    return driver()->compile(gpu::lowered(std::move(kernel), driver()->capabilities()));
  }

  static constexpr std::size_t kBlock = 64 << 10, kTensor = 103;
  std::byte* blocks_[2] = {};
};

TEST_F(WebgpuDriver, SaysWhatTheDeviceHas) {
  const gpu::Capabilities& has = driver()->capabilities();
  std::printf("%s: %s, %d buffers of %lld bytes, %d threads, %lld bytes of shared memory\n",
              std::string(provider().implementation).c_str(), adapter().name.c_str(), has.most_buffers,
              static_cast<long long>(has.binding_bytes), has.most_threads, static_cast<long long>(has.shared_memory));
  EXPECT_GE(has.most_buffers, 8);
  EXPECT_GE(has.shared_memory, 16 << 10);
  EXPECT_GE(has.most_threads, 256);
}

TEST_F(WebgpuDriver, CopiesAnyBytes) {
  for (const std::size_t from : {0, 1, 4, 6})
    for (const std::size_t to : {0, 1, 3, 4, 8})
      for (const std::size_t bytes : {1, 2, 3, 4, 5, 8, 11, 64}) {
        Bytes x = pattern(kTensor, 1), y = pattern(kTensor, 101);
        driver()->upload(blocks_[0], x);
        driver()->upload(blocks_[1], y);
        driver()->copy(blocks_[1] + to, blocks_[0] + from, bytes);
        std::memcpy(y.data() + to, x.data() + from, bytes);
        EXPECT_EQ(read(blocks_[1], kTensor), y) << from << " to " << to << ", " << bytes;
        driver()->copy(blocks_[1] + 70, blocks_[1] + to, 20);  // in one buffer
        std::memmove(y.data() + 70, y.data() + to, 20);
        EXPECT_EQ(read(blocks_[1], kTensor), y) << to << ", " << bytes;
      }
}

TEST_F(WebgpuDriver, UploadsAndClearsAnyBytes) {
  for (const std::size_t at : {0, 1, 2, 4, 7})
    for (const std::size_t bytes : {1, 2, 3, 4, 7, 16, 33}) {
      Bytes x = pattern(kTensor, 3);
      const Bytes part = pattern(bytes, 77);
      driver()->upload(blocks_[0], x);
      driver()->upload(blocks_[0] + at, part);
      std::memcpy(x.data() + at, part.data(), bytes);
      driver()->clear(blocks_[0] + at + 40, bytes);
      std::memset(x.data() + at + 40, 0, bytes);
      EXPECT_EQ(read(blocks_[0], kTensor), x) << at << ", " << bytes;
      EXPECT_EQ(read(blocks_[0] + at, bytes), part);
    }
}

/// y = x + 1, of `count` bytes.
gpu::Kernel next_of_bytes() {
  gpu::Builder k("next", 128);
  const gpu::Buffer x = k.input(DType::U8), y = k.output(DType::U8);
  const gpu::Expr count = k.number(DType::I64), i = k.place(DType::I64);
  k.when(i < count, [&] { y.store(i, x[i] + 1); });
  return k.finish();
}

TEST_F(WebgpuDriver, RunsKernelsOnOneTensorAndOnParts) {
  const Ref<gpu::Code> code = compiled(next_of_bytes());
  Bytes x = pattern(kTensor, 5);
  driver()->upload(blocks_[0], x);
  const auto run = [&](std::size_t from, std::size_t to, std::uint64_t count) {
    const std::uint64_t arguments[] = {address_of(blocks_[0] + from), address_of(blocks_[0] + to), count};
    driver()->launch(*code, 1, arguments);
    for (std::size_t i = 0; i < count; ++i) x[to + i] = static_cast<std::byte>(static_cast<int>(x[from + i]) + 1);
  };
  run(0, 0, kTensor);
  run(3, 51, 47);
  run(66, 1, 33);
  EXPECT_EQ(read(blocks_[0], kTensor), x);
}

// As a flipped tensor is read: its address is that of its last element.
TEST_F(WebgpuDriver, ReadsBackwardsFromWhereATensorEnds) {
  for (const DType dtype : {DType::U8, DType::I32}) {
    gpu::Builder k("backwards", 64);
    const gpu::Buffer x = k.input(dtype), y = k.output(dtype);
    const gpu::Expr count = k.number(DType::I32), i = k.place(DType::I32);
    k.when(i < count, [&] { y.store(i, x[-i]); });
    const Ref<gpu::Code> code = compiled(k.finish());
    const std::size_t size = size_of(dtype), count_of = 100 / size;
    const Bytes source = pattern(kTensor, 7);
    driver()->upload(blocks_[0], source);
    const std::uint64_t arguments[] = {address_of(blocks_[0] + (count_of - 1) * size), address_of(blocks_[1]),
                                       count_of};
    driver()->launch(*code, 2, arguments);
    const Bytes found = read(blocks_[1], count_of * size);
    for (std::size_t i = 0; i < count_of; ++i)
      EXPECT_EQ(std::memcmp(found.data() + i * size, source.data() + (count_of - 1 - i) * size, size), 0) << i;
  }
}

TEST_F(WebgpuDriver, StartsManyBlocks) {
  gpu::Builder k("many", 32);
  const gpu::Buffer y = k.both(DType::I32);
  k.when(k.thread() == 0,
         [&] { (void)y.update(gpu::Update::Add, k.literal(DType::I32, 0), k.literal(DType::I32, 1)); });
  const Ref<gpu::Code> code = compiled(k.finish());
  driver()->clear(blocks_[0], 4);
  const std::uint64_t arguments[] = {address_of(blocks_[0])};
  driver()->launch(*code, 70'001, arguments);  // more than a row of the grid has
  std::int32_t count = 0;
  std::memcpy(&count, read(blocks_[0], 4).data(), 4);
  EXPECT_EQ(count, 70'001);
}

TEST_F(WebgpuDriver, KeepsTheOrderOfThreads) {
  const Ref<gpu::Code> code = compiled(next_of_bytes());
  driver()->clear(blocks_[0], kTensor);
  const std::uint64_t arguments[] = {address_of(blocks_[0]), address_of(blocks_[0]), kTensor};
  std::vector<std::thread> threads;
  const auto work = [&] {
    for (int j = 0; j < 40; ++j) {
      driver()->launch(*code, 1, arguments);
      if (j % 10 == 0) (void)read(blocks_[0], 4);
    }
  };
  try {
    for (int i = 0; i < 3; ++i) threads.emplace_back(work);
  } catch (const std::system_error&) { GTEST_SKIP() << "the module has no threads"; }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(read(blocks_[0], kTensor), Bytes(kTensor, std::byte{120}));
}

TEST_F(WebgpuDriver, NotifiesWhenBytesHaveArrived) {
  driver()->upload(blocks_[0], pattern(kTensor, 9));
  const Ref<gpu::Transfer> transfer = driver()->download(blocks_[0], kTensor);
  std::atomic<bool> told = false;
  transfer->notify({[](void* to) { *static_cast<std::atomic<bool>*>(to) = true; }, &told});
  while (!told) std::this_thread::yield();
  EXPECT_TRUE(transfer->ready());
  Bytes got(kTensor);
  transfer->wait(got.data());
  EXPECT_EQ(got, pattern(kTensor, 9));
  // One that nobody waits for takes nothing with it.
  { const Ref<gpu::Transfer> forgotten = driver()->download(blocks_[0], kTensor); }
  EXPECT_EQ(read(blocks_[0], kTensor), pattern(kTensor, 9));
}

TEST_F(WebgpuDriver, TellsWhatItsCompilerSays) {
  gpu::Kernel kernel = gpu::lowered(next_of_bytes(), driver()->capabilities());
  kernel.threads = 1 << 20;  // more than any device has
  try {
    const Pipeline made(make_ref<Session>(provider(), adapter()), kernel);
    FAIL() << "it compiles";
  } catch (const Error& error) {
    const std::string said = error.what();
    EXPECT_NE(said.find("kernel next does not compile: "), std::string::npos) << said;
    EXPECT_NE(said.find("@workgroup_size(1048576)"), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace kiln::webgpu::test
