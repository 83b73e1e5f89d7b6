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
    pool.release();
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
  pool.release();
  EXPECT_EQ(pool.statistics().reserved, 0);
}

TEST(MemoryPool, ReturnsRegionsOfSmallBlocksThatNobodyUses) {
  MemoryPool pool(512 * kMiB);
  std::vector<std::byte*> blocks;
  constexpr std::size_t kBytes = 100'000;
  while (pool.statistics().reserved < static_cast<std::int64_t>(48 * kMiB)) blocks.push_back(pool.acquire(kBytes));
  std::byte* kept = blocks[blocks.size() / 2];  // in the second of three
  std::memset(kept, 7, kBytes);
  for (std::byte* block : blocks)
    if (block != kept) pool.give_back(block, kBytes);
  pool.release();
  EXPECT_EQ(pool.statistics().reserved, static_cast<std::int64_t>(16 * kMiB));
  // What is left of the free lists lies in that region.
  std::vector<std::byte*> more;
  for (int i = 0; i < 20; ++i) {
    more.push_back(pool.acquire(kBytes));
    std::memset(more.back(), 1, kBytes);
  }
  EXPECT_EQ(pool.statistics().reserved, static_cast<std::int64_t>(16 * kMiB));
  EXPECT_EQ(std::to_integer<int>(kept[kBytes - 1]), 7);
  for (std::byte* block : more) pool.give_back(block, kBytes);
  pool.give_back(kept, kBytes);
  pool.release();
  EXPECT_EQ(pool.statistics().reserved, 0);
  EXPECT_NE(pool.acquire(kBytes), nullptr);
}

TEST(MemoryPool, ALowerLimitReturnsWhatIsKeptAndRefusesTheRest) {
  MemoryPool pool(512 * kMiB);
  std::byte* used = pool.acquire(10 * kMiB);
  pool.give_back(pool.acquire(20 * kMiB), 20 * kMiB);
  pool.set_limit(12 * kMiB);
  EXPECT_EQ(pool.statistics().reserved, static_cast<std::int64_t>(10 * kMiB));
  EXPECT_EQ(pool.acquire(4 * kMiB), nullptr);
  EXPECT_NE(pool.acquire(2 * kMiB), nullptr);
  pool.give_back(used, 10 * kMiB);
}

TEST(MemoryPool, AsksTheSystemOnceForWhatALoopUses) {
  MemoryPool pool(512 * kMiB);
  const auto step = [&] {
    for (const std::size_t bytes : {100 * std::size_t{1024}, 3 * kMiB, 9 * kMiB})
      pool.give_back(pool.acquire(bytes), bytes);
  };
  step();
  const MemoryStatistics warm = pool.statistics();
  for (int i = 0; i < 10; ++i) step();
  EXPECT_EQ(pool.statistics().system_requests, warm.system_requests);
  EXPECT_EQ(pool.statistics().requests, warm.requests + 30);
}

TEST(MemoryPool, ReportsTheLargestHoldersTogetherWhereTheyAreAlike) {
  MemoryPool pool(256 * kMiB);
  const Desc image{{8, 512, 512}, DType::F32}, table{{1024, 1024}, DType::I16};
  for (int i = 0; i < 3; ++i) (void)pool.acquire(8 * kMiB, {.use = MemoryUse::Result, .desc = &image});
  (void)pool.acquire(2 * kMiB, {.use = MemoryUse::Upload, .desc = &table});
  (void)pool.acquire(4 * kMiB);
  std::byte* gone = pool.acquire(64 * kMiB);
  pool.give_back(gone, 64 * kMiB);
  (void)pool.acquire(64);
  EXPECT_EQ(pool.report(),
            "30 MiB in use (uploads 2 MiB, results 24 MiB, scratch 4 MiB, packed 0 bytes), 110 MiB held from the "
            "system, peak 94 MiB, "
            "the limit is 256 MiB; the largest: 3 results float32 [8, 512, 512] (24 MiB), 1 scratch block (4 MiB), "
            "1 upload int16 [1024, 1024] (2 MiB), and 64 bytes in others");
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
