// What a Driver promises, on the machine's GPU or on the fake driver.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <numeric>
#include <thread>

#include "tests/backend/cuda/machine.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::cuda::test {
namespace {

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>((i * 2654435761u + seed) >> 7);
  return made;
}

std::vector<std::byte> downloaded(Driver& driver, const std::byte* from, std::size_t bytes) {
  std::vector<std::byte> to(bytes);
  driver.download(from, bytes)->wait(to.data());
  return to;
}

std::uint64_t bits(float number) {
  std::uint32_t word = 0;
  std::memcpy(&word, &number, sizeof(word));
  return word;
}

std::span<const std::byte> bytes_of(const std::vector<float>& numbers) { return std::as_bytes(std::span(numbers)); }

TEST(CudaDriver, SaysWhatTheDeviceHas) {
  KILN_NEEDS_DEVICE();
  EXPECT_EQ(driver().name(), "cuda");
  const gpu::Capabilities& has = driver().capabilities();
  EXPECT_GE(has.multiprocessors, 1);
  EXPECT_GE(has.memory, 64 << 20);
  EXPECT_GE(has.shared_memory, 48 << 10);
}

TEST(CudaDriver, CopiesBytesOfAnySizeUpAndDown) {
  KILN_NEEDS_DEVICE();
  const std::size_t sizes[] = {1,
                               3,
                               63,
                               64,
                               65,
                               4095,
                               4097,
                               Uploads::kPiece - 1,
                               Uploads::kPiece,
                               Uploads::kPiece + 1,
                               3 * Uploads::kPiece + 12345,
                               10 * Uploads::kPiece + 7};
  for (const std::size_t size : sizes) {
    const Block block(driver(), size + 1);
    std::vector<std::byte> source = pattern(size, static_cast<unsigned>(size));
    const std::vector<std::byte> expected = source;
    driver().upload(block.start() + 1, source);
    std::fill(source.begin(), source.end(), std::byte{0xee});  // it may change once it is handed over
    EXPECT_EQ(downloaded(driver(), block.start() + 1, size), expected) << size;
  }
}

TEST(CudaDriver, DoesThingsInTheOrderInWhichItIsAsked) {
  KILN_NEEDS_DEVICE();
  constexpr std::size_t kBytes = 100000;
  const Block a(driver(), kBytes), b(driver(), kBytes);
  std::vector<Ref<gpu::Transfer>> reads;
  for (unsigned round = 0; round < 50; ++round) {
    driver().upload(a.start(), pattern(kBytes, round));
    driver().copy(b.start(), a.start(), kBytes);
    if (round % 5 == 0) driver().clear(b.start() + 10, 77);
    reads.push_back(driver().download(b.start(), kBytes));
  }
  for (unsigned round = 50; round-- > 0;) {  // in any order
    std::vector<std::byte> expected = pattern(kBytes, round), found(kBytes);
    if (round % 5 == 0) std::fill_n(expected.begin() + 10, 77, std::byte{0});
    reads[round]->wait(found.data());
    EXPECT_EQ(found, expected) << round;
  }
}

TEST(CudaDriver, IsAskedByManyThreads) {
  KILN_NEEDS_DEVICE();
  constexpr std::size_t kBytes = 3'000'001;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 6; ++thread)
    threads.emplace_back([&, thread] {
      const Block block(driver(), kBytes);
      for (unsigned round = 0; round < 10; ++round) {
        const std::vector<std::byte> sent = pattern(kBytes - round, thread * 100 + round);
        driver().upload(block.start() + round, sent);
        wrong += downloaded(driver(), block.start() + round, sent.size()) != sent;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(CudaDriver, NotifiesWhenBytesHaveArrived) {
  KILN_NEEDS_DEVICE();
  struct Read {
    Ref<gpu::Transfer> transfer;
    std::atomic<int>&told, &early;
    Wakeup wakeup() {
      return {[](void* self) {
                Read& read = *static_cast<Read*>(self);
                read.early += !read.transfer->ready();
                ++read.told;
              },
              this};
    }
  };
  const Block block(driver(), 1000);
  driver().upload(block.start(), pattern(1000, 5));
  std::atomic<int> told = 0, early = 0;
  std::deque<Read> reads;
  for (int i = 0; i < 20; ++i) {
    reads.push_back({driver().download(block.start(), 1000), told, early});
    reads.back().transfer->notify(reads.back().wakeup());
  }
  for (int i = 0; i < 1000 && told < 20; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_EQ(told, 20);
  std::vector<std::byte> found(1000);
  for (Read& read : reads) {
    read.transfer->wait(found.data());
    EXPECT_EQ(found, pattern(1000, 5));
    EXPECT_TRUE(read.transfer->ready());
    read.transfer->notify(read.wakeup());  // at once
  }
  EXPECT_EQ(told, 40);
  EXPECT_EQ(early, 0);
}

TEST(CudaDriver, ForgetsReadsThatNobodyWaitsFor) {
  KILN_NEEDS_DEVICE();
  const Block block(driver(), 5000);
  for (unsigned round = 0; round < 30; ++round) {
    driver().upload(block.start(), pattern(5000, round));
    (void)driver().download(block.start(), 5000);
  }
  EXPECT_EQ(downloaded(driver(), block.start(), 5000), pattern(5000, 29));
}

TEST(CudaDriver, HasNoMemoryBeyondTheDevices) {
  KILN_NEEDS_DEVICE();
  EXPECT_EQ(driver().memory().map(std::size_t{1} << 45), nullptr);
  const Block block(driver(), 1 << 20);
  ASSERT_NE(block.start(), nullptr);
  driver().upload(block.start(), pattern(1 << 20, 3));
  EXPECT_EQ(downloaded(driver(), block.start(), 1 << 20), pattern(1 << 20, 3));
}

TEST(CudaDriver, LaunchesKernels) {
  KILN_NEEDS_DEVICE();
  KILN_NEEDS_COMPILER();
  constexpr std::int64_t kCount = 1000;
  std::vector<float> numbers(kCount);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  const Block x(driver(), kCount * 4), y(driver(), kCount * 4);
  driver().upload(x.start(), bytes_of(numbers));
  const Ref<gpu::Code> code = driver().compile(scale_kernel());
  const std::uint64_t arguments[] = {address_of(y.start()), address_of(x.start()), kCount, bits(0.5f)};
  const auto before = fake_state();
  driver().launch(*code, 0, arguments);
  driver().launch(*code, 8, arguments);
  driver().synchronize();
  if (const auto after = fake_state()) {
    EXPECT_EQ(after->launches, before->launches + 1);
    EXPECT_STREQ(after->last_launch.name, "kiln_scale");
    EXPECT_EQ(after->last_launch.blocks, 8u);
    EXPECT_EQ(after->last_launch.threads, 128u);
    EXPECT_EQ(after->last_launch.first_argument, address_of(y.start()));
    return;
  }
  std::vector<float> found(kCount);
  driver().download(y.start(), kCount * 4)->wait(reinterpret_cast<std::byte*>(found.data()));
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], 0.5f * static_cast<float>(i));
}

// The same list again and again, of which some rounds have other numbers, other addresses or another list between.
TEST(CudaDriver, StartsWhatComesAgainAsAGraph) {
  KILN_NEEDS_DEVICE();
  KILN_NEEDS_COMPILER();
  constexpr std::int64_t kCount = 1000, kBytes = kCount * 4;
  std::vector<float> numbers(kCount);
  std::iota(numbers.begin(), numbers.end(), 1.0f);
  const Block x(driver(), kBytes), y(driver(), kBytes), z(driver(), kBytes), other(driver(), kBytes);
  driver().upload(x.start(), bytes_of(numbers));
  const Ref<gpu::Code> code = driver().compile(scale_kernel());
  const auto scale = [&](std::byte* to, const std::byte* from, float factor) {
    const std::uint64_t arguments[] = {address_of(to), address_of(from), kCount, bits(factor)};
    driver().launch(*code, 8, arguments);
  };
  const auto before = fake_state();
  for (int round = 0; round < 20; ++round) {
    const auto factor = static_cast<float>(1 + round % 7);
    std::byte* const middle = round % 5 == 4 ? other.start() : y.start();
    driver().clear(z.start(), kBytes);
    scale(middle, x.start(), factor);
    scale(y.start(), middle, 2);
    driver().copy(z.start(), y.start(), kBytes);
    scale(z.start(), z.start(), 3);
    if (round % 6 == 5) scale(z.start(), z.start(), 1);
    driver().flush();
    std::vector<float> found(kCount);
    driver().download(z.start(), kBytes)->wait(reinterpret_cast<std::byte*>(found.data()));
    if (before) continue;
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], 6 * factor * numbers[i]) << round;
  }
  if (const auto after = fake_state()) {
    EXPECT_EQ(after->launches, before->launches + 17 * 3 + 3 * 4);
    // Two lists, of which one came 17 times and the other 3 times; the first two times of each are no graphs.
    EXPECT_EQ(after->graphs, before->graphs + 15 + 1);
  }
}

TEST(CudaDriver, StartsAFewLaunchesThatComeAgainAsAGraph) {
  KILN_NEEDS_DEVICE();
  KILN_NEEDS_COMPILER();
  constexpr std::int64_t kCount = 1000, kBytes = kCount * 4;
  constexpr int kRounds = 20, kBefore = 8;  // the first times are no graphs
  std::vector<float> numbers(kCount);
  std::iota(numbers.begin(), numbers.end(), 1.0f);
  const Block x(driver(), kBytes), y(driver(), kBytes), z(driver(), kBytes);
  driver().upload(x.start(), bytes_of(numbers));
  const Ref<gpu::Code> code = driver().compile(scale_kernel());
  for (const int launches : {1, 2, 3}) {
    const auto before = fake_state();
    for (int round = 0; round < kRounds; ++round) {
      // Other numbers each time, and in some rounds another place for the result: the graph changes.
      std::byte* const to = round % 3 == 2 ? z.start() : y.start();
      const auto factor = static_cast<float>(2 + round % 7);
      for (int i = 0; i < launches; ++i) {
        const std::uint64_t arguments[] = {address_of(to), address_of(i ? to : x.start()), kCount, bits(factor)};
        driver().launch(*code, 8, arguments);
      }
      driver().flush();
      std::vector<float> found(kCount);
      driver().download(to, kBytes)->wait(reinterpret_cast<std::byte*>(found.data()));
      if (before) continue;
      float all = 1;
      for (int i = 0; i < launches; ++i) all *= factor;
      for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], all * numbers[i]) << launches << ' ' << round;
    }
    if (const auto after = fake_state()) {
      EXPECT_EQ(after->launches, before->launches + launches * kRounds);
      EXPECT_EQ(after->graphs, before->graphs + kRounds - kBefore) << launches;
    }
  }
  // A copy takes no longer by itself.
  const auto before = fake_state();
  for (int round = 0; round < kRounds; ++round) {
    driver().copy(z.start(), x.start(), kBytes);
    driver().flush();
  }
  driver().synchronize();
  if (const auto after = fake_state()) { EXPECT_EQ(after->graphs, before->graphs); }
}

// Each of the threads of a block gets what another has left in shared memory, at its far end.
TEST(CudaDriver, GivesBlocksTheSharedMemoryThatTheyNeed) {
  KILN_NEEDS_DEVICE();
  KILN_NEEDS_COMPILER();
  constexpr int kThreads = 256;
  const auto kernel = [](std::int64_t bytes) {
    gpu::Builder k("reverse", kThreads);
    const gpu::Buffer y = k.output(DType::I32);
    const gpu::Shared tile = k.shared(DType::I32, bytes / 4);
    const int start = static_cast<int>(bytes / 4) - kThreads;
    tile.store(k.thread() + start, k.thread() * 3);
    k.barrier();
    y.store(k.thread(), tile[(start + kThreads - 1) - k.thread()]);
    return k.finish();
  };
  const std::int64_t most = driver().capabilities().shared_memory;
  const Block y(driver(), kThreads * 4);
  const std::uint64_t arguments[] = {address_of(y.start())};
  for (const std::int64_t bytes : {std::int64_t{4096}, std::int64_t{48} << 10, (std::int64_t{48} << 10) + 4, most}) {
    driver().clear(y.start(), kThreads * 4);
    driver().launch(*driver().compile(kernel(bytes)), 1, arguments);
    driver().synchronize();
    if (const auto fake = fake_state()) {
      EXPECT_EQ(fake->last_launch.shared_bytes, bytes);
      continue;
    }
    std::vector<std::int32_t> found(kThreads);
    driver().download(y.start(), kThreads * 4)->wait(reinterpret_cast<std::byte*>(found.data()));
    for (int i = 0; i < kThreads; ++i) ASSERT_EQ(found[static_cast<std::size_t>(i)], 3 * (kThreads - 1 - i)) << bytes;
  }
  EXPECT_EQ(sentence_of([&] { return driver().compile(kernel(most + 4)); }),
            text("DeviceError: cuda: kernel reverse needs ", most + 4, " bytes of shared memory, a block has ", most));
}

// In a process of its own, as the device does nothing more for one to which this happened.
[[noreturn]] void break_the_device() {
  Driver& device = driver();
  const Block block(device, 4096);
  const std::uint64_t right[] = {address_of(block.start()), address_of(block.start()), 1, bits(1)};
  const std::uint64_t wrong[] = {16, address_of(block.start()), 1, bits(1)};
  device.launch(*device.compile(scale_kernel("sound")), 1, right);
  device.synchronize();
  device.launch(*device.compile(scale_kernel("guilty")), 1, wrong);
  std::string said;
  for (int i = 0; i < 2; ++i) {
    try {
      device.synchronize();
    } catch (const DeviceError& error) { said = error.what(); }
  }
  try {
    device.clear(block.start(), 16);
    device.synchronize();
    said = "it goes on";
  } catch (const DeviceError&) {}
  std::fprintf(stderr, "%s\n", said.c_str());
  std::_Exit(0);
}

TEST(CudaDriverDeathTest, NamesTheKernelsAfterWhichTheDeviceWasLost) {
  KILN_NEEDS_DEVICE();
  KILN_NEEDS_COMPILER();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      break_the_device(), testing::ExitedWithCode(0),
      "DeviceError: cuda: [a-z ]*: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was "
      "encountered; it comes from one of the kernels that ran since the device was last waited for: guilty; the "
      "device does nothing more for this process");
}

}  // namespace
}  // namespace kiln::cuda::test
