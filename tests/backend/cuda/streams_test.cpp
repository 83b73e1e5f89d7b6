// Threads with streams of their own. The fake driver's streams are threads that go at any pace, and its libraries compute;
// kernels do nothing there, so that these programs consist of copies, products and collectives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>

#include "kiln/backend/cuda/cublas.hpp"
#include "kiln/backend/cuda/ranks/nccl.hpp"
#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/collective/thread_ranks.hpp"
#include "kiln/ops/collective/collective.hpp"
#include "kiln/ops/devices.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/scope/device_stream.hpp"
#include "tests/backend/cuda/machine.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::cuda::test {
namespace {

constexpr int kSlow = 3000, kVerySlow = 100000, kAsBefore = -1;
using Floats = std::vector<float>;
constexpr std::int64_t kCount = 1000;
constexpr std::size_t kBytes = kCount * 4;

/// Sets how many microseconds each thing takes of the stream that this thread has asked last; a real driver takes its
/// own time.
void pace(int microseconds) {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  const auto set = library ? reinterpret_cast<void (*)(int)>(::dlsym(library, "kiln_fake_pace_mine")) : nullptr;
  if (set) set(microseconds);
}

Floats counted(float first) {
  Floats numbers(kCount);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}
std::span<const std::byte> raw(const Floats& numbers) { return std::as_bytes(std::span(numbers)); }
Floats fetched(Driver& driver, const Block& from) {
  Floats to(kCount);
  driver.download(from.start(), kBytes)->wait(std::as_writable_bytes(std::span(to)).data());
  return to;
}

/// A stream of the driver beside its first, on which this thread works and which takes its time.
struct Slow {
  explicit Slow(Driver& driver, int microseconds = kSlow) : driver(driver) {
    driver.streams()->open_stream(1);
    on.emplace(driver, 1);
    driver.synchronize();
    driver.mark()->wait();
    pace(microseconds);
  }
  ~Slow() {
    driver.mark()->wait();
    pace(kAsBefore);
  }
  Driver& driver;
  std::optional<gpu::OnStream> on;
};

TEST(CudaStreams, GoBesideEachOtherButWhereTheyWait) {
  KILN_NEEDS_DEVICE();
  const Block x(driver(), kBytes), y(driver(), kBytes), z(driver(), kBytes);
  driver().upload(x.start(), raw(counted(1)));
  driver().upload(z.start(), raw(counted(3)));
  driver().synchronize();
  const Slow own(driver(), kVerySlow);
  driver().upload(y.start(), raw(counted(2)));
  driver().copy(x.start(), y.start(), kBytes);  // queued
  const gpu::OnStream first(driver(), 0);
  const Floats meanwhile = fetched(driver(), x);
  if (fake_state()) { EXPECT_EQ(meanwhile, counted(1)); }
  driver().streams()->wait_for_stream(0, 1);
  driver().copy(y.start(), x.start(), kBytes);
  EXPECT_EQ(fetched(driver(), y), counted(2));
  driver().upload(z.start(), raw(counted(4)));  // the first's
  driver().streams()->wait_for_stream(1, 0);
  const gpu::OnStream again(driver(), 1);
  driver().copy(x.start(), z.start(), kBytes);
  EXPECT_EQ(fetched(driver(), x), counted(4));
}

TEST(CudaStreams, AreDoneWithMemoryBeforeItIsFree) {
  KILN_NEEDS_DEVICE();
  const Block y(driver(), kBytes);
  const Slow own(driver());
  {
    const Block x(driver(), kBytes);
    driver().upload(x.start(), raw(counted(2)));
    driver().copy(y.start(), x.start(), kBytes);  // queued
  }
  driver().flush();
  EXPECT_EQ(fetched(driver(), y), counted(2));
}

TEST(CudaStreams, AreAllSynchronized) {
  KILN_NEEDS_DEVICE();
  const Block x(driver(), kBytes);
  const Slow own(driver());
  driver().upload(x.start(), raw(counted(2)));
  driver().clear(x.start(), 4);  // queued
  const gpu::OnStream first(driver(), 0);
  driver().synchronize();
  Floats expected = counted(2);
  expected[0] = 0;
  EXPECT_EQ(fetched(driver(), x), expected);
}

TEST(CudaStreams, HaveGraphsOfTheirOwn) {
  KILN_NEEDS_DEVICE();
  const auto machine = make_ref<Driver>(0);  // which knows no list yet
  const auto before = fake_state();
  constexpr int kRounds = 20;
  for (int number = 1; number < 3; ++number) machine->streams()->open_stream(number);
  std::deque<Block> blocks;  // to free one would start what is queued
  std::vector<std::thread> all;
  for (int number = 0; number < 3; ++number)
    all.emplace_back(
        [&machine, number, &x = blocks.emplace_back(*machine, kBytes), &y = blocks.emplace_back(*machine, kBytes)] {
          const gpu::OnStream own(*machine, number);
          for (int round = 0; round < kRounds; ++round) {
            const Floats numbers = counted(static_cast<float>(100 * number + round));
            machine->upload(x.start(), raw(numbers));
            for (int i = 0; i < 3; ++i) {
              machine->copy(y.start(), x.start(), kBytes);
              machine->copy(x.start(), y.start(), kBytes);
            }
            machine->flush();
            EXPECT_EQ(fetched(*machine, x), numbers);
          }
        });
  for (std::thread& each : all) each.join();
  if (before) { EXPECT_EQ(fake_state()->graphs, before->graphs + 3 * (kRounds - 2)); }
}

TEST(CudaStreams, AreLostTogether) {
  KILN_NEEDS_DEVICE();
  const auto first = make_ref<Stream>(driver_api(), 0), own = make_ref<Stream>(*first, 1);
  Event reached(first);
  reached.record();
  reached.wait();
  own->lose("a kernel of the other could not be launched");
  const std::string said = sentence_of([&] { return reached.wait(), 0; });
  EXPECT_EQ(said,
            "DeviceError: cuda: a kernel of the other could not be launched; the device does nothing more for this "
            "process");
}

// What was queued behind a command that fails is never done: whoever reads its results must be told.
TEST(CudaStreams, AreLostWithACommandThatCannotStart) {
  KILN_NEEDS_DEVICE();
  if (!fake_state()) GTEST_SKIP() << "a real driver refuses no copy";
  const auto refuse =
      reinterpret_cast<void (*)()>(::dlsym(::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), "kiln_fake_refuse_copy"));
  ASSERT_NE(refuse, nullptr);
  for (const int more : {0, 8}) {  // few commands are started one by one
    const auto machine = make_ref<Driver>(0);
    const Block x(*machine, kBytes), y(*machine, kBytes), z(*machine, kBytes);
    machine->upload(x.start(), raw(counted(1)));
    machine->upload(z.start(), raw(counted(2)));
    machine->synchronize();
    machine->copy(y.start(), x.start(), kBytes);
    machine->copy(z.start(), x.start(), kBytes);
    for (int i = 0; i < more; ++i) machine->clear(y.start(), kBytes);
    refuse();
    const std::string cause = "cuda: copying 4000 bytes: CUDA_ERROR_OTHER";
    EXPECT_NE(sentence_of([&] { return machine->flush(), 0; }).find(cause), std::string::npos);
    std::thread([&] {  // knows of no error
      const std::string said = sentence_of([&] { return fetched(*machine, z); });
      EXPECT_NE(said.find("a command could not be started, and what was queued behind it was dropped: " + cause),
                std::string::npos)
          << said;
    })
        .join();
  }
}

// Destructors give memory back: they are told that it stays, and whoever reads is told why.
TEST(CudaStreams, KeepMemoryWhoseUsesCannotStart) {
  KILN_NEEDS_DEVICE();
  if (!fake_state()) GTEST_SKIP() << "a real driver refuses no copy";
  const auto refuse =
      reinterpret_cast<void (*)()>(::dlsym(::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), "kiln_fake_refuse_copy"));
  ASSERT_NE(refuse, nullptr);
  const auto machine = make_ref<Driver>(0);
  const Block x(*machine, kBytes);
  std::byte* const y = machine->memory().map(kBytes);
  machine->upload(x.start(), raw(counted(1)));
  machine->synchronize();
  machine->copy(y, x.start(), kBytes);
  refuse();
  EXPECT_NO_THROW(EXPECT_FALSE(machine->memory().unmap(y, kBytes)));
  EXPECT_NE(sentence_of([&] { return fetched(*machine, x); }).find("a command could not be started"),
            std::string::npos);
  EXPECT_TRUE(machine->memory().unmap(y, kBytes));
}

// ---- as programs see them ------------------------------------------------------------------------------------------

std::string missing_products() {
  try {
    (void)cublas::api();
    return "";
  } catch (const Error& error) { return error.what(); }
}
#define KILN_NEEDS_PRODUCTS() \
  KILN_NEEDS_DEVICE();        \
  KILN_NEEDS_COMPILER();      \
  if (const std::string why = missing_products(); !why.empty()) GTEST_SKIP() << why

constexpr std::int64_t kSide = 16;
/// All elements are `number`.
Value square(float number, const Device& device) {
  return from_data(TensorData::of<float>({kSide, kSide}, Floats(kSide * kSide, number)), device);
}
/// A matrix whose product with one of equal elements is one of `factor` times them.
Value scale(float factor, const Device& device) { return square(factor / kSide, device); }
Floats numbers(const Value& value) { return value.data().to_vector<float>(); }
Floats all(float number) { return Floats(kSide * kSide, number); }

/// A stream of this thread's that takes its time.
struct SlowStream {
  explicit SlowStream(const Device& device) : own(device), device(device) { set(kSlow); }
  ~SlowStream() { set(kAsBefore); }
  void set(int microseconds) const {
    device.backend().flush();
    (void)square(0, device);  // this thread asks the stream for it
    pace(microseconds);
  }
  const DeviceStream own;
  const Device device;
};

TEST(CudaStreams, MultiplyAmongThreads) {
  KILN_NEEDS_PRODUCTS();
  const Device device = Device::cuda();
  const Value twice = scale(2, device), half = scale(0.5, device);
  {
    const SlowStream own(device);
    EXPECT_TRUE(own.own.is_own());
    Value y = matmul(square(3, device), twice), z;
    device.backend().flush();  // otherwise it may run in the stream of whoever needs it first
    std::thread([&] {          // in the first stream
      z = matmul(y, twice);
      EXPECT_EQ(numbers(z), all(12));
    })
        .join();
    EXPECT_EQ(numbers(matmul(z, half)), all(6));
    EXPECT_EQ(numbers(y), all(6));
    y = {};
    for (int i = 0; i < 10; ++i)
      EXPECT_EQ(numbers(matmul(square(static_cast<float>(i), device), z)), all(192.0f * static_cast<float>(i)));
  }
  EXPECT_EQ(numbers(matmul(square(1, device), half)), all(0.5));
}

// What libraries take for a stream of a thread's own is memory that a program did not have without it.
TEST(CudaStreams, CountTheirWorkspaces) {
  KILN_NEEDS_PRODUCTS();
  for (const bool room : {true, false}) {
    const auto machine = make_ref<Driver>(0);
    const Device device(make_ref<gpu::Gpu>(machine));
    const Value x = square(3, device), twice = scale(2, device);
    const auto beside_pools = [&] {
      return static_cast<std::int64_t>(machine->budget().held()) - device.memory().reserved;
    };
    EXPECT_EQ(numbers(matmul(x, twice)), all(6));
    EXPECT_EQ(beside_pools(), 0);
    if (!room) device.set_memory_limit(std::int64_t{16} << 20);
    const DeviceStream own(device);
    EXPECT_EQ(numbers(matmul(x, twice)), all(6));
    EXPECT_EQ(beside_pools() > 0, room);
    if (!room) { EXPECT_LE(machine->budget().held(), std::size_t{16} << 20); }
  }
}

// Two threads that hand each other what they have computed, one of them slow.
TEST(CudaStreams, HandOnTensors) {
  KILN_NEEDS_PRODUCTS();
  const Device device = Device::cuda();
  for (const bool both : {true, false})
    for (const int slow : {0, 1, 2}) {
      std::mutex mutex;
      Value shared = square(1, device);
      float known = 1;
      const auto work = [&](int me) {
        std::optional<DeviceStream> own;
        if (both || me) own.emplace(device);
        (void)square(0, device);
        if (me == slow && own) pace(500);
        for (int round = 0; round < 20; ++round) {
          const std::lock_guard lock(mutex);
          const float factor = known > 1000 ? 0.25f : 2;
          shared = matmul(matmul(shared, scale(factor, device)), scale(1, device));
          known *= factor;
          device.backend().flush();
          if (round % 5 == me) { EXPECT_EQ(numbers(shared), all(known)); }
        }
        (void)square(0, device);
        if (own) pace(kAsBefore);
      };
      std::thread first(work, 0), second(work, 1);
      first.join();
      second.join();
      EXPECT_EQ(numbers(shared), all(known));
    }
}

// Many kernels at once, on memory that goes from one to another; the fake driver's kernels do nothing.
TEST(CudaStreams, HandOnWhatKernelsCompute) {
  KILN_NEEDS_PRODUCTS();
  if (fake_state()) GTEST_SKIP() << "kernels do nothing here";
  const Device device = Device::cuda();
  constexpr std::size_t kThreads = 4;
  constexpr std::int64_t kElements = 1 << 18;
  std::mutex mutex;
  std::vector<Value> shared;
  std::vector<double> known;
  for (std::size_t i = 0; i < kThreads; ++i) {
    known.push_back(static_cast<double>(i));
    shared.push_back(full({kElements}, known[i], device, DType::F64));
  }
  const auto is_all = [](const Value& value, double number) {
    const auto found = value.data().to_vector<double>();
    return std::ranges::all_of(found, [&](double each) { return each == number; });
  };
  const auto work = [&](std::size_t me) {
    std::optional<DeviceStream> own;
    if (me) own.emplace(device);
    std::uint64_t seed = me + 1;
    for (int round = 0; round < 400; ++round) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      const std::size_t a = (seed >> 33) % kThreads, b = (seed >> 43) % kThreads, how = (seed >> 53) % 8;
      Value x, y;
      double first = 0, second = 0;
      {
        const std::lock_guard lock(mutex);
        x = shared[a], y = shared[b], first = known[a], second = known[b];
      }
      Value z = round % 3 ? (x + y) * 0.5 : maximum(x, y);
      const double expected = round % 3 ? (first + second) * 0.5 : std::max(first, second);
      if (how == 0) { EXPECT_TRUE(is_all(z, expected)) << round; }
      if (how == 1) own.reset();
      if (how == 2 && !own) own.emplace(device);
      if (how == 3) z = reshape(permute(reshape(z, {kElements / 64, 64}), {1, 0}), {kElements});
      x = y = {};
      if (how != 4) device.backend().flush();
      const std::lock_guard lock(mutex);
      shared[me] = std::move(z), known[me] = expected;
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& each : threads) each.join();
  for (std::size_t i = 0; i < kThreads; ++i) EXPECT_TRUE(is_all(shared[i], known[i]));
}

TEST(CudaStreams, MeetOtherRanks) {
  KILN_NEEDS_PRODUCTS();
  try {
    (void)nccl::api();
  } catch (const Error& error) { GTEST_SKIP() << error.what(); }
  ::setenv("KILN_NCCL", "1", 1);
  std::vector<Device> devices;
  for (int i = 0; i < std::min(device_count(), 2); ++i) devices.push_back(Device::cuda(i));
  const auto ranks_there = static_cast<float>(devices.size());
  for (const int microseconds : {0, kSlow})
    on_each(devices, [&](const Ranks& ranks, const Device& device) {
      const DeviceStream own(device);
      (void)square(0, device);
      pace(microseconds);
      for (int round = 0; round < 5; ++round) {
        const auto first = static_cast<float>(round + 1);
        Value x = square(2 * first, device);
        Value sum = all_reduce(x, ranks);
        x = {};
        const Value other = square(-1, device), next = matmul(other, scale(3, device));
        EXPECT_EQ(numbers(matmul(sum, scale(0.5, device))), all(first * ranks_there));
        EXPECT_EQ(numbers(sum), all(2 * first * ranks_there));
        EXPECT_EQ(numbers(next), all(-3));
      }
      (void)square(0, device);
      pace(kAsBefore);
    });
  ::unsetenv("KILN_NCCL");
}

}  // namespace
}  // namespace kiln::cuda::test
