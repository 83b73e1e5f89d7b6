#include "kiln/backend/cpu/memory_pool.hpp"

#include <cstring>
#include <thread>

#include <gtest/gtest.h>

namespace kiln::cpu {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST(MemoryPool, AlignsEveryBlockAndLetsNoneOverlap) {
  MemoryPool pool(512 * kMiB);
  std::vector<std::pair<std::byte*, std::size_t>> blocks;
  for (std::size_t bytes = 1; bytes < 40 * kMiB; bytes = bytes * 3 / 2 + 1) {
    std::byte* block = pool.acquire(bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % kAlignment, 0u);
    std::memset(block, static_cast<int>(blocks.size()), bytes);
    blocks.emplace_back(block, bytes);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto [block, bytes] = blocks[i];
    EXPECT_EQ(std::to_integer<std::size_t>(block[0]), i);
    EXPECT_EQ(std::to_integer<std::size_t>(block[bytes - 1]), i);
    pool.give_back(block, bytes);
  }
}

TEST(MemoryPool, HandsOutAgainWhatCameBack) {
  MemoryPool pool(512 * kMiB);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, 700 * std::size_t{1024}, 5 * kMiB, 100 * kMiB}) {
    std::byte* first = pool.acquire(bytes);
    pool.give_back(first, bytes);
    std::byte* second = pool.acquire(bytes);
    EXPECT_EQ(second, first) << bytes;
    pool.give_back(second, bytes);
  }
}

TEST(MemoryPool, HoldsTheSameAmountHoweverLongItRuns) {
  MemoryPool pool(512 * kMiB);
  const auto step = [&] {
    std::vector<std::pair<std::byte*, std::size_t>> blocks;
    for (std::size_t bytes = 32; bytes < 8 * kMiB; bytes *= 2) blocks.emplace_back(pool.acquire(bytes), bytes);
    for (const auto& [block, bytes] : blocks) pool.give_back(block, bytes);
  };
  step();
  const std::int64_t reserved = pool.statistics().reserved;
  for (int i = 0; i < 1000; ++i) step();
  EXPECT_EQ(pool.statistics().reserved, reserved);
  EXPECT_EQ(pool.statistics().in_use, 0);
}

TEST(MemoryPool, CountsWhatIsInUseAndItsPeak) {
  MemoryPool pool(512 * kMiB);
  std::byte* a = pool.acquire(1024);
  std::byte* b = pool.acquire(4 * kMiB);
  EXPECT_EQ(pool.statistics().in_use, static_cast<std::int64_t>(1024 + 4 * kMiB));
  EXPECT_GE(pool.statistics().reserved, pool.statistics().in_use);
  pool.give_back(b, 4 * kMiB);
  EXPECT_EQ(pool.statistics().in_use, 1024);
  EXPECT_EQ(pool.statistics().peak, static_cast<std::int64_t>(1024 + 4 * kMiB));
  pool.give_back(a, 1024);
}

TEST(MemoryPool, WastesAnEighthAtMost) {
  MemoryPool pool(std::size_t{4096} * kMiB);
  for (std::size_t bytes = 600; bytes < 1024 * kMiB; bytes = bytes * 21 / 20 + 1) {
    if (bytes > kMiB && bytes < 16 * kMiB) continue;  // whole huge pages
    std::byte* block = pool.acquire(bytes);
    const auto used = static_cast<std::size_t>(pool.statistics().in_use);
    EXPECT_LE(used, bytes + bytes / 8 + kAlignment) << bytes;
    EXPECT_GE(used, bytes);
    pool.give_back(block, bytes);
    pool.trim();
  }
}

TEST(MemoryPool, GivesCachedBlocksBackBeforeItRefuses) {
  MemoryPool pool(64 * kMiB);
  std::byte* block = pool.acquire(40 * kMiB);
  EXPECT_EQ(pool.acquire(30 * kMiB), nullptr);  // both do not fit
  pool.give_back(block, 40 * kMiB);
  std::byte* other = pool.acquire(30 * kMiB);  // the first one makes room
  EXPECT_NE(other, nullptr);
  EXPECT_EQ(pool.statistics().reserved, static_cast<std::int64_t>(30 * kMiB));
  pool.give_back(other, 30 * kMiB);
  pool.trim();
  EXPECT_EQ(pool.statistics().reserved, 0);
}

TEST(MemoryPool, RefusesWhatNoMachineHas) {
  MemoryPool pool(SIZE_MAX);
  EXPECT_EQ(pool.acquire(SIZE_MAX), nullptr);
  EXPECT_EQ(pool.acquire(SIZE_MAX / 2), nullptr);
  EXPECT_EQ(pool.acquire((std::size_t{1} << 48) + 1), nullptr);
}

TEST(MemoryPool, ServesThreadsThatFreeEachOthersBlocks) {
  MemoryPool pool(512 * kMiB);
  std::mutex mutex;
  std::vector<std::pair<std::byte*, std::size_t>> shared;
  const auto work = [&](unsigned seed) {
    for (int i = 0; i < 5000; ++i) {
      const std::size_t bytes = 64 + (seed = seed * 1664525u + 1013904223u) % 20000;
      std::byte* block = pool.acquire(bytes);
      std::memset(block, 1, bytes);
      const std::lock_guard lock(mutex);
      shared.emplace_back(block, bytes);
      if (shared.size() > 50) {
        std::swap(shared[seed % shared.size()], shared.back());
        pool.give_back(shared.back().first, shared.back().second);
        shared.pop_back();
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  for (const auto& [block, bytes] : shared) pool.give_back(block, bytes);
  EXPECT_EQ(pool.statistics().in_use, 0);
}

}  // namespace
}  // namespace kiln::cpu
