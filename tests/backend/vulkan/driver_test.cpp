// What a Driver promises, on the machine's first device.
#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>

#include "kiln/backend/gpu/kernel/lower/lower.hpp"
#include "tests/backend/vulkan/machine.hpp"

namespace kiln::vulkan::test {
namespace {

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>((i * 2654435761u + seed) >> 7);
  return made;
}

std::vector<std::byte> downloaded(const std::byte* from, std::size_t bytes) {
  std::vector<std::byte> to(bytes);
  driver().download(from, bytes)->wait(to.data());
  return to;
}

Ref<gpu::Code> compiled(const gpu::Kernel& kernel) {
  return driver().compile(gpu::lowered(kernel, driver().capabilities()));
}

TEST(VulkanDriver, SaysWhatTheDeviceHas) {
  KILN_NEEDS_DEVICE();
  EXPECT_EQ(driver().name(), "vulkan");
  const gpu::Capabilities& has = driver().capabilities();
  EXPECT_EQ(has.addressing, gpu::Addressing::Addresses);
  EXPECT_GE(has.memory, 64 << 20);
  EXPECT_GE(has.shared_memory, 16 << 10);
  EXPECT_GE(has.most_threads, 128);
  EXPECT_TRUE(has.computes.has(DType::F32) && has.computes.has(DType::I32) && has.computes.has(DType::Bool));
  EXPECT_TRUE(has.lanes.most == 0 || has.lanes.least > 0);
}

TEST(VulkanDriver, CopiesBytesOfAnySizeUpAndDown) {
  KILN_NEEDS_DEVICE();
  constexpr std::size_t kPiece = std::size_t{4} << 20;
  for (const std::size_t size : {std::size_t{1}, std::size_t{3}, std::size_t{63}, std::size_t{4097}, kPiece - 1, kPiece,
                                 kPiece + 1, 10 * kPiece + 7}) {
    const Block block(driver(), size + 1);
    std::vector<std::byte> source = pattern(size, static_cast<unsigned>(size));
    const std::vector<std::byte> expected = source;
    driver().upload(block.start() + 1, source);
    std::ranges::fill(source, std::byte{0xee});  // it may change once it is handed over
    EXPECT_EQ(downloaded(block.start() + 1, size), expected) << size;
  }
}

TEST(VulkanDriver, DoesThingsInTheOrderInWhichItIsAsked) {
  KILN_NEEDS_DEVICE();
  constexpr std::size_t kBytes = 100000;
  const Block a(driver(), kBytes), b(driver(), kBytes);
  std::deque<Ref<gpu::Transfer>> reads;
  for (unsigned round = 0; round < 50; ++round) {
    driver().upload(a.start(), pattern(kBytes, round));
    driver().copy(b.start(), a.start(), kBytes);
    if (round % 5 == 0) driver().clear(b.start() + 10, 77);
    reads.push_back(driver().download(b.start(), kBytes));
    if (round % 7 == 0) driver().flush();
  }
  for (unsigned round = 0; round < 50; ++round, reads.pop_front()) {
    std::vector<std::byte> expected = pattern(kBytes, round), found(kBytes);
    if (round % 5 == 0) std::fill_n(expected.begin() + 10, 77, std::byte{0});
    reads.front()->wait(found.data());
    EXPECT_EQ(found, expected) << round;
  }
}

TEST(VulkanDriver, ClearsBytesThatAreNoWholeWords) {
  KILN_NEEDS_DEVICE();
  const Block block(driver(), 64);
  for (std::size_t start = 0; start < 9; ++start)
    for (std::size_t bytes = 0; bytes < 14; ++bytes) {
      std::vector<std::byte> expected(32, std::byte{0xab});
      driver().upload(block.start(), expected);
      driver().clear(block.start() + start, bytes);
      std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(start), bytes, std::byte{0});
      EXPECT_EQ(downloaded(block.start(), 32), expected) << start << " " << bytes;
    }
}

TEST(VulkanDriver, RunsKernelsAfterEachOther) {
  KILN_NEEDS_DEVICE();
  constexpr int kCount = 10000;
  const Block x(driver(), kCount * 4), y(driver(), kCount * 4);
  std::vector<float> numbers(kCount);
  for (int i = 0; i < kCount; ++i) numbers[static_cast<std::size_t>(i)] = static_cast<float>(i);
  x.fill(numbers);
  const Ref<gpu::Code> scale = compiled(scale_kernel());
  // More commands than one list holds.
  for (int round = 0; round < 600; ++round) {
    const std::uint64_t there[] = {y.address(), x.address(), kCount, bits(2)},
                        back[] = {x.address(), y.address(), kCount, bits(0.5f)};
    driver().launch(*scale, (kCount + 127) / 128, there);
    driver().launch(*scale, (kCount + 127) / 128, back);
  }
  EXPECT_EQ(x.read<float>(kCount), numbers);
  driver().launch(*scale, 0, {});  // no blocks, no launch
}

TEST(VulkanDriver, PassesMoreArgumentsThanPushConstantsHold) {
  KILN_NEEDS_DEVICE();
  gpu::Builder k("many_numbers", 32);
  const gpu::Buffer y = k.output(DType::I32);
  gpu::Expr sum = k.literal(DType::I32, 0);
  for (int i = 0; i < 40; ++i) sum = sum * 3 + k.number(DType::I32);
  k.when(k.thread() == 0, [&] { y.store(k.block(), sum); });
  const Ref<gpu::Code> code = compiled(k.finish());
  const Block block(driver(), 64);
  std::vector<std::uint64_t> arguments{block.address()};
  std::uint32_t expected = 0;
  for (unsigned i = 0; i < 40; ++i) {
    arguments.push_back(i * 7);
    expected = expected * 3 + i * 7;
  }
  driver().launch(*code, 2, arguments);
  arguments[0] += 8;
  arguments[40] += 1;
  driver().launch(*code, 1, arguments);
  EXPECT_EQ(block.read<std::uint32_t>(3), (std::vector<std::uint32_t>{expected, expected, expected + 1}));
}

TEST(VulkanDriver, LetsABlockChooseItsBuffer) {
  KILN_NEEDS_DEVICE();
  for (const int count : {3, 30}) {
    gpu::Builder k("chooses", 32);
    const gpu::Table xs = k.inputs(DType::F32, count);
    const gpu::Buffer y = k.output(DType::F32);
    const gpu::Buffer x = xs[k.block()];
    y.store(k.block() * 32 + k.thread(), x[k.thread()] + 1);
    const Ref<gpu::Code> code = compiled(k.finish());
    const std::size_t bytes = static_cast<std::size_t>(count) * 128;
    const Block from(driver(), bytes), to(driver(), bytes);
    std::vector<float> numbers(bytes / 4);
    std::vector<std::uint64_t> arguments;
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
    for (std::uint64_t i = bytes / 128; i-- > 0;) arguments.push_back(from.address() + i * 128);  // backwards
    from.fill(numbers);
    arguments.push_back(to.address());
    driver().launch(*code, count, arguments);
    const std::vector<float> found = to.read<float>(numbers.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_EQ(found[i], numbers[(bytes / 128 - 1 - i / 32) * 32 + i % 32] + 1) << i;
  }
}

TEST(VulkanDriver, TellsOthersWhenBytesHaveArrived) {
  KILN_NEEDS_DEVICE();
  const Block block(driver(), 4096);
  driver().upload(block.start(), pattern(4096, 5));
  static std::atomic<int> told;
  told = 0;
  const Ref<gpu::Transfer> transfer = driver().download(block.start(), 4096);
  transfer->notify({[](void*) {
                      ++told;
                      told.notify_one();
                    },
                    nullptr});
  told.wait(0);
  EXPECT_TRUE(transfer->ready());
  std::vector<std::byte> found(4096);
  transfer->wait(found.data());
  EXPECT_EQ(found, pattern(4096, 5));
  { const Ref<gpu::Transfer> dropped = driver().download(block.start(), 100); }  // nobody waits for it
}

TEST(VulkanDriver, ServesSeveralThreads) {
  KILN_NEEDS_DEVICE();
  const Ref<gpu::Code> scale = compiled(scale_kernel());
  const auto work = [&](unsigned number) {
    constexpr int kCount = 1000;
    const Block x(driver(), kCount * 4), y(driver(), kCount * 4);
    for (unsigned round = 0; round < 40; ++round) {
      const std::vector<float> numbers(kCount, static_cast<float>(round + number));
      x.fill(numbers);
      const std::uint64_t arguments[] = {y.address(), x.address(), kCount, bits(3)};
      driver().launch(*scale, (kCount + 127) / 128, arguments);
      for (const float each : y.read<float>(kCount)) ASSERT_EQ(each, 3 * static_cast<float>(round + number));
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) threads.emplace_back(work, i * 100);
  for (std::thread& each : threads) each.join();
}

TEST(VulkanDriver, RefusesAddressesThatAreNobodys) {
  KILN_NEEDS_DEVICE();
  const Block block(driver(), 4096);
  EXPECT_THROW(driver().clear(block.start(), 1 << 20), DeviceError);
  EXPECT_THROW(driver().copy(block.start(), nullptr, 4), DeviceError);
}

TEST(VulkanDriver, HasNoMemoryForMoreThanThereIs) {
  KILN_NEEDS_DEVICE();
  EXPECT_EQ(driver().memory().map(std::size_t{1} << 46), nullptr);
  const Block block(driver(), 4096);
  driver().upload(block.start(), pattern(4096, 1));
  EXPECT_EQ(downloaded(block.start(), 4096), pattern(4096, 1));
}

}  // namespace
}  // namespace kiln::vulkan::test
