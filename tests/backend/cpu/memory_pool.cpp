#include "kiln/backend/memory/memory_pool.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <thread>

#include <gtest/gtest.h>

namespace kiln::cpu {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// Whoever asks for the same again and again gets the same, in whatever order it was given back.
TEST(MemoryPool, HandsOutTheLowestBlockFirstWhereItIsToldTo) {
  MemoryPool pool(512 * kMiB, system_pages(), MemoryPool::Order::LowestFirst);
  for (const std::size_t bytes : {std::size_t{1000}, 3 * kMiB}) {
    std::vector<std::byte*> blocks;
    for (int i = 0; i < 5; ++i) blocks.push_back(pool.acquire(bytes));
    std::vector<std::byte*> sorted = blocks;
    std::ranges::sort(sorted);
    for (const std::size_t i : {3u, 0u, 4u, 1u, 2u}) pool.release(blocks[i], bytes);
    for (std::byte* const lowest : sorted) EXPECT_EQ(pool.acquire(bytes), lowest);
    for (std::byte* const block : sorted) pool.release(block, bytes);
  }
}

// Its core may still have what was written there.
TEST(MemoryPool, GivesAThreadWhatItGaveBackItself) {
  MemoryPool pool(512 * kMiB);
  const std::size_t bytes = 100'000;
  std::byte* const own[] = {pool.acquire(bytes), pool.acquire(bytes), pool.acquire(bytes)};
  std::byte* const other = pool.acquire(bytes);
  for (std::byte* const block : own) pool.release(block, bytes);
  std::thread([&] { pool.release(other, bytes); }).join();
  for (std::byte* const block : {own[2], own[1], own[0], other}) EXPECT_EQ(pool.acquire(bytes), block);
  for (std::byte* const block : {own[0], own[1], own[2], other}) pool.release(block, bytes);
}

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
    pool.release(block, bytes);
  }
}

// In a region of its own, in what is left of larger blocks, and in what is left after pages went back.
TEST(MemoryPool, BeginsBlocksOfWholePagesAtOne) {
  for (const std::size_t limit : {2 * kMiB, 512 * kMiB}) {
    MemoryPool pool(limit);
    std::byte* const large = pool.acquire(900000);
    pool.release(pool.acquire(kMiB), kMiB);
    std::vector<std::pair<std::byte*, std::size_t>> blocks;
    for (int round = 0; round < 2; ++round) {
      for (std::size_t i = 0; i < 60; ++i)
        for (const std::size_t bytes : {std::size_t{64}, std::size_t{40000}, std::size_t{5000}})
          if (std::byte* const block = pool.acquire(bytes)) blocks.emplace_back(block, bytes);
      for (const auto& [block, bytes] : blocks)
        if (bytes == 40000) { EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 4096, 0u); }
      // Every second one, so that nothing lies in whole pages by chance.
      std::vector<std::pair<std::byte*, std::size_t>> kept;
      for (std::size_t i = 0; i < blocks.size(); ++i)
        if (i % 2) kept.push_back(blocks[i]);
        else pool.release(blocks[i].first, blocks[i].second);
      blocks = kept;
      pool.release_unused();
    }
    for (const auto& [block, bytes] : blocks) pool.release(block, bytes);
    pool.release(large, 900000);
  }
}

TEST(MemoryPool, HandsOutAgainWhatCameBack) {
  MemoryPool pool(512 * kMiB);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, 700 * std::size_t{1024}, 5 * kMiB, 100 * kMiB}) {
    std::byte* first = pool.acquire(bytes);
    pool.release(first, bytes);
    std::byte* second = pool.acquire(bytes);
    EXPECT_EQ(second, first) << bytes;
    pool.release(second, bytes);
  }
}

TEST(MemoryPool, HoldsTheSameAmountHoweverLongItRuns) {
  MemoryPool pool(512 * kMiB);
  const auto step = [&] {
    std::vector<std::pair<std::byte*, std::size_t>> blocks;
    for (std::size_t bytes = 32; bytes < 8 * kMiB; bytes *= 2) blocks.emplace_back(pool.acquire(bytes), bytes);
    for (const auto& [block, bytes] : blocks) pool.release(block, bytes);
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
  pool.release(b, 4 * kMiB);
  EXPECT_EQ(pool.statistics().in_use, 1024);
  EXPECT_EQ(pool.statistics().peak, static_cast<std::int64_t>(1024 + 4 * kMiB));
  pool.release(a, 1024);
}

TEST(MemoryPool, WastesAnEighthAtMost) {
  for (std::size_t bytes = 1; bytes < 1024 * kMiB; bytes = bytes * 51 / 50 + 1) {
    MemoryPool pool(std::size_t{4096} * kMiB);
    std::byte* block = pool.acquire(bytes);
    const MemoryStatistics memory = pool.statistics();
    EXPECT_GE(memory.in_use, static_cast<std::int64_t>(bytes));
    EXPECT_LE(memory.in_use, static_cast<std::int64_t>(std::max(bytes + bytes / 8, bytes + 63))) << bytes;
    // A block's neighbours will share what is held.
    EXPECT_LT(memory.reserved, static_cast<std::int64_t>((bytes > kMiB ? memory.in_use : 0) + 2 * kMiB + 1)) << bytes;
    pool.release(block, bytes);
  }
}

TEST(MemoryPool, HoldsLittleMoreThanManySmallBlocksNeed) {
  for (const std::size_t bytes :
       {64 * std::size_t{1}, std::size_t{3000}, std::size_t{70'000}, std::size_t{700'000}, kMiB}) {
    MemoryPool pool(std::size_t{4096} * kMiB);
    std::size_t wanted = 0;
    for (; wanted < 100 * kMiB; wanted += bytes) ASSERT_NE(pool.acquire(bytes), nullptr);
    EXPECT_LE(pool.statistics().reserved, static_cast<std::int64_t>(wanted + wanted / 8 + 20 * kMiB)) << bytes;
  }
}

// As the results of a network do, of which two are needed at once.
TEST(MemoryPool, HoldsForLargeBlocksOfManySizesWhatTheyNeedAtOnce) {
  MemoryPool pool(std::size_t{4096} * kMiB);
  std::int64_t most = 0;
  for (int round = 0; round < 3; ++round) {
    std::byte* before = nullptr;
    std::size_t held = 0;
    for (const std::size_t bytes : {9 * kMiB, 5 * kMiB + 1000, 7 * kMiB, 2 * kMiB, 3 * kMiB + 5, 8 * kMiB, kMiB + 1}) {
      std::byte* const next = pool.acquire(bytes);
      std::memset(next, static_cast<int>(bytes % 251), bytes);
      most = std::max(most, pool.statistics().in_use);
      if (before) pool.release(before, held);
      before = next, held = bytes;
    }
    EXPECT_EQ(std::to_integer<std::size_t>(before[held - 1]), held % 251);
    pool.release(before, held);
  }
  EXPECT_LE(pool.statistics().reserved, most + static_cast<std::int64_t>(8 * kMiB));
  EXPECT_EQ(pool.statistics().in_use, 0);
  pool.release_unused();
  EXPECT_EQ(pool.statistics().reserved, 0);
}

TEST(Extents, JoinWhatLiesSideBySide) {
  std::vector<std::byte> memory(1000);
  const auto at = [&](std::size_t place) { return memory.data() + place; };
  Extents extents;
  extents.add({at(0), 100});
  extents.add({at(300), 100});
  EXPECT_EQ(extents.take(101), nullptr);
  extents.add({at(100), 100});  // after one
  extents.add({at(250), 50});   // before one
  EXPECT_EQ(extents.take(201), nullptr);
  EXPECT_EQ(extents.take(120), at(250)) << "the smallest that has room";
  EXPECT_EQ(extents.take(150), at(0));
  extents.add({at(0), 150});
  extents.add({at(200), 170});  // between two
  EXPECT_EQ(extents.take(400), at(0));
  EXPECT_EQ(extents.take(1), nullptr);
  for (const std::size_t place : {600, 500, 700}) extents.add({at(place), 10});
  EXPECT_EQ(extents.take(10), at(500)) << "the lowest of equals";
  extents.drop_if([&](const Extent& range) { return range.start == at(600); });
  EXPECT_EQ(extents.take(10), at(700));
  EXPECT_EQ(extents.take(10), nullptr);
}

TEST(MemoryPool, GivesCachedBlocksBackBeforeItRefuses) {
  MemoryPool pool(64 * kMiB);
  std::byte *const first = pool.acquire(20 * kMiB), *const between = pool.acquire(4 * kMiB),
                   *const last = pool.acquire(20 * kMiB);
  EXPECT_EQ(pool.acquire(30 * kMiB), nullptr);  // all do not fit
  pool.release(first, 20 * kMiB);
  pool.release(last, 20 * kMiB);
  std::byte* other = pool.acquire(30 * kMiB);  // the two make room, wherever they lie
  EXPECT_NE(other, nullptr);
  pool.release(other, 30 * kMiB);
  pool.release(between, 4 * kMiB);
  pool.release_unused();
  EXPECT_EQ(pool.statistics().reserved, 0);
}

TEST(MemoryPool, ReturnsRegionsOfSmallBlocksThatNobodyUses) {
  MemoryPool pool(512 * kMiB);
  std::vector<std::byte*> blocks;
  constexpr std::size_t kBytes = 100'000;
  while (pool.statistics().reserved < static_cast<std::int64_t>(48 * kMiB)) blocks.push_back(pool.acquire(kBytes));
  std::byte* kept = blocks[blocks.size() / 2];
  std::memset(kept, 7, kBytes);
  for (std::byte* block : blocks)
    if (block != kept) pool.release(block, kBytes);
  pool.release_unused();
  EXPECT_LE(pool.statistics().reserved, static_cast<std::int64_t>(kBytes + kMiB / 4));  // the pages that it touches
  std::vector<std::byte*> more;
  for (int i = 0; i < 20; ++i) {
    more.push_back(pool.acquire(kBytes));
    std::memset(more.back(), 1, kBytes);
  }
  EXPECT_EQ(std::to_integer<int>(kept[kBytes - 1]), 7);
  for (std::byte* block : more) pool.release(block, kBytes);
  pool.release(kept, kBytes);
  pool.release_unused();
  EXPECT_EQ(pool.statistics().reserved, 0);
  EXPECT_NE(pool.acquire(kBytes), nullptr);
}

TEST(MemoryPool, ALowerLimitReturnsWhatIsKeptAndRefusesTheRest) {
  MemoryPool pool(512 * kMiB);
  std::byte* used = pool.acquire(10 * kMiB);
  pool.release(pool.acquire(20 * kMiB), 20 * kMiB);
  pool.set_limit(12 * kMiB);
  EXPECT_EQ(pool.statistics().reserved, static_cast<std::int64_t>(10 * kMiB));
  EXPECT_EQ(pool.acquire(4 * kMiB), nullptr);
  EXPECT_NE(pool.acquire(2 * kMiB), nullptr);
  pool.release(used, 10 * kMiB);
}

TEST(MemoryPool, AsksTheSystemOnceForWhatALoopUses) {
  MemoryPool pool(512 * kMiB);
  const auto step = [&] {
    for (const std::size_t bytes : {100 * std::size_t{1024}, 3 * kMiB, 9 * kMiB})
      pool.release(pool.acquire(bytes), bytes);
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
  pool.release(gone, 64 * kMiB);
  (void)pool.acquire(64);
  EXPECT_EQ(pool.report(),
            "30 MiB in use (uploads 2 MiB, results 24 MiB, scratch 4 MiB, packed 0 bytes), 96 MiB held from the "
            "system, peak 94 MiB, "
            "the limit is 256 MiB; the largest: 3 results float32 [8, 512, 512] (24 MiB), 1 scratch block (4 MiB), "
            "1 upload int16 [1024, 1024] (2 MiB), and 64 bytes in others");
}

/// What a block of `bytes` takes of a limit.
std::size_t taken(std::size_t bytes) { return bytes + bytes / 8 + kAlignment; }

TEST(MemoryPool, ServesAllThatFitsUnderALimit) {
  const std::size_t sizes[] = {100, 2048, 5000, 40'000, 300'000, kMiB, 3 * kMiB, 2500, 64, 9 * kMiB, 700'000};
  for (std::size_t limit = 4096; limit < 64 * kMiB; limit = limit * 5 / 4 + 100) {
    MemoryPool pool(limit);
    std::vector<std::pair<std::byte*, std::size_t>> blocks;
    std::size_t sum = 8 * 4096;  // pages that are partly used
    for (int round = 0; round < 3; ++round) {
      for (std::size_t i = 0; i < 200; ++i) {
        const std::size_t bytes = sizes[i % std::size(sizes)];
        if (sum + taken(bytes) > limit) continue;
        std::byte* block = pool.acquire(bytes);
        ASSERT_NE(block, nullptr) << bytes << " bytes with " << pool.report();
        std::memset(block, static_cast<int>(blocks.size()), bytes);
        blocks.emplace_back(block, bytes);
        sum += taken(bytes);
      }
      EXPECT_LE(pool.statistics().reserved, static_cast<std::int64_t>(limit));
      for (std::size_t i = 0; i < blocks.size(); ++i)
        EXPECT_EQ(std::to_integer<std::size_t>(blocks[i].first[blocks[i].second - 1]), i % 256) << limit;
      for (const auto& [block, bytes] : blocks) pool.release(block, bytes);
      blocks.clear();
      sum = 8 * 4096;
    }
  }
}

TEST(MemoryPool, ServesSmallBlocksWhereOthersLeftRoom) {
  MemoryPool pool(24 * kMiB);
  std::vector<std::byte*> blocks;
  while (std::byte* block = pool.acquire(kMiB / 2)) blocks.push_back(block);
  EXPECT_GE(blocks.size(), 47u);
  for (std::size_t i = 3; i < blocks.size(); ++i) pool.release(blocks[i], kMiB / 2);  // 1.5 MiB stay
  EXPECT_NE(pool.acquire(2048), nullptr) << pool.report();
  EXPECT_NE(pool.acquire(20 * kMiB), nullptr) << pool.report();
}

TEST(MemoryPool, PutsFreeNeighboursTogether) {
  MemoryPool pool(24 * kMiB);
  std::vector<std::byte*> blocks;
  while (std::byte* block = pool.acquire(1024)) blocks.push_back(block);
  EXPECT_GE(blocks.size(), 24 * 1024 - 16u);
  // One in 4096 stays: 6 of them, each in a page of its own.
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (i % 4096) pool.release(blocks[i], 1024);
    else std::memset(blocks[i], 7, 1024);
  for (const std::size_t bytes : {kMiB, 3 * kMiB, std::size_t{700'000}, 16 * kMiB})
    EXPECT_NE(pool.acquire(bytes), nullptr) << bytes << " bytes with " << pool.report();
  for (std::size_t i = 0; i < blocks.size(); i += 4096) EXPECT_EQ(std::to_integer<int>(blocks[i][1023]), 7);
}

TEST(MemoryPool, RefusesWhatLiesInPieces) {
  MemoryPool pool(16 * kMiB);
  std::vector<std::byte*> blocks;
  while (std::byte* block = pool.acquire(2048)) blocks.push_back(block);
  for (std::size_t i = 0; i < blocks.size(); i += 2) pool.release(blocks[i], 2048);  // half of every page
  EXPECT_EQ(pool.acquire(kMiB), nullptr);
  for (std::size_t i = 0; i < blocks.size(); i += 2) EXPECT_NE(pool.acquire(2000), nullptr) << i;
  EXPECT_EQ(pool.acquire(2048), nullptr);
}

/// Whether threads that come and go near the limit find, and keep whole, all that fits.
TEST(MemoryPool, ServesThreadsNearItsLimit) {
  constexpr std::size_t kThreads = 4, kShare = 6 * kMiB;
  MemoryPool pool(kThreads * kShare + kMiB);
  std::atomic<int> refused = 0, broken = 0;
  const auto work = [&](unsigned seed) {
    std::vector<std::pair<std::byte*, std::size_t>> own;
    std::size_t sum = 0;
    const auto release = [&](std::size_t i) {
      const auto [block, bytes] = own[i];
      broken += block[0] != block[bytes - 1];
      pool.release(block, bytes);
      sum -= taken(bytes);
      own[i] = own.back();
      own.pop_back();
    };
    for (int i = 0; i < 3000; ++i) {
      const unsigned drawn = (seed = seed * 1664525u + 1013904223u) >> 8;
      const std::size_t bytes = drawn % 4 ? 1 + drawn % 30'000 : 1 + drawn % (2 * kMiB);
      while (sum + taken(bytes) > kShare / 2) release(drawn % own.size());
      std::byte* block = pool.acquire(bytes);
      if (!block) {
        ++refused;
        continue;
      }
      block[0] = block[bytes - 1] = static_cast<std::byte>(drawn);
      own.emplace_back(block, bytes);
      sum += taken(bytes);
    }
    while (!own.empty()) release(0);
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(broken, 0);
  EXPECT_EQ(pool.statistics().in_use, 0);
  pool.release_unused();
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
        pool.release(shared.back().first, shared.back().second);
        shared.pop_back();
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  for (const auto& [block, bytes] : shared) pool.release(block, bytes);
  EXPECT_EQ(pool.statistics().in_use, 0);
}

/// Memory as a GPU's driver gives it: addresses that the host cannot read, and no parts back.
struct FarMemory final : BlockSource {
  std::byte* map(std::size_t bytes) override {
    if (held + bytes > 64 * kMiB) return nullptr;
    std::byte* const start = next;
    next += bytes + kAlignment;
    pieces[start] = bytes;
    held += bytes;
    return start;
  }
  bool unmap(std::byte* start, std::size_t bytes) override {
    const auto piece = pieces.find(start);
    EXPECT_TRUE(piece != pieces.end() && piece->second == bytes) << "a part of what it gave, or none of it";
    if (piece == pieces.end()) return false;
    held -= piece->second;
    pieces.erase(piece);
    return true;
  }
  bool returns_parts() const override { return false; }
  std::byte* next = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 46);
  std::size_t held = 0;
  std::map<std::byte*, std::size_t> pieces;
};

TEST(MemoryPool, NeverLooksIntoMemoryOfASourceThatTakesNoPartsBack) {
  FarMemory far;
  {
    MemoryPool pool(512 * kMiB, far);
    std::vector<std::pair<std::byte*, std::size_t>> blocks;
    for (std::size_t bytes = 1; bytes < 12 * kMiB; bytes = bytes * 3 / 2 + 1) {
      blocks.emplace_back(pool.acquire(bytes), bytes);
      ASSERT_NE(blocks.back().first, nullptr) << bytes;
    }
    std::vector<std::pair<std::byte*, std::size_t>> sorted = blocks;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 1; i < sorted.size(); ++i)
      EXPECT_LE(sorted[i - 1].first + sorted[i - 1].second, sorted[i].first) << "blocks overlap";
    EXPECT_EQ(pool.acquire(60 * kMiB), nullptr) << "the source has no more, whatever the limit says";
    std::byte* const kept = blocks.front().first;  // in the first region, which therefore stays
    for (std::size_t i = 1; i < blocks.size(); ++i) pool.release(blocks[i].first, blocks[i].second);
    pool.release_unused();
    EXPECT_EQ(far.pieces.size(), 1u);
    EXPECT_EQ(static_cast<std::size_t>(pool.statistics().reserved), far.held);
    EXPECT_NE(pool.acquire(60 * kMiB), nullptr) << "what came back is there for others";
    pool.release(kept, blocks.front().second);
  }
  EXPECT_LE(far.pieces.size(), 1u) << "a large block that is still in use";
}

/// The system's pages, counted.
class Counted final : public BlockSource {
 public:
  std::byte* map(std::size_t bytes) override {
    ++mapped;
    held += bytes;
    return system_pages().map(bytes);
  }
  bool unmap(std::byte* start, std::size_t bytes) override {
    if (refuses) return false;
    held -= bytes;
    return system_pages().unmap(start, bytes);
  }
  bool returns_parts() const override { return true; }
  std::size_t mapped = 0, held = 0;
  bool refuses = false;
};

TEST(MemoryOptions, HoldsExactlyWhatIsInUse) {
  Counted source;
  MemoryPool pool(64 * kMiB, {.strategy = MemoryStrategy::Exact, .source = &source});
  std::byte *const small = pool.acquire(1), *const large = pool.acquire(3 * kMiB + 1);
  ASSERT_TRUE(small && large);
  small[0] = large[3 * kMiB] = std::byte{1};
  EXPECT_EQ(source.held, 4096 + 3 * kMiB + 4096);
  EXPECT_EQ(static_cast<std::size_t>(pool.statistics().reserved), source.held);
  EXPECT_EQ(pool.acquire(61 * kMiB), nullptr);  // over the limit
  pool.release(large, 3 * kMiB + 1);
  EXPECT_EQ(source.held, 4096u);
  std::byte* const other = pool.acquire(63 * kMiB);
  EXPECT_NE(other, nullptr);
  source.refuses = true;
  pool.release(other, 63 * kMiB);
  EXPECT_EQ(static_cast<std::size_t>(pool.statistics().reserved), 63 * kMiB + 4096);  // the source keeps it
  source.refuses = false;
  pool.release_unused();
  EXPECT_EQ(source.held, 4096u);
  pool.release(small, 1);
  EXPECT_EQ(source.held, 0u);
  EXPECT_EQ(pool.statistics().in_use, 0);
}

TEST(MemoryOptions, TakesAnArenaOnce) {
  Counted source;
  {
    MemoryPool pool(512 * kMiB, {.strategy = MemoryStrategy::Arena, .bytes = 10 * kMiB, .source = &source});
    EXPECT_EQ(source.mapped, 0u);
    std::vector<std::pair<std::byte*, std::size_t>> blocks;
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{100}, 2 * kMiB, 5 * kMiB}) {
      blocks.emplace_back(pool.acquire(bytes), bytes);
      ASSERT_NE(blocks.back().first, nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back().first) % kAlignment, 0u);
      std::memset(blocks.back().first, 1, bytes);
    }
    EXPECT_EQ(source.mapped, 1u);
    EXPECT_EQ(pool.acquire(4 * kMiB), nullptr);  // 3 MiB are left, less some lines
    std::byte* const rest = pool.acquire(3 * kMiB - 256);
    EXPECT_NE(rest, nullptr);
    pool.release(rest, 3 * kMiB - 256);
    pool.release_unused();
    EXPECT_EQ(source.held, 10 * kMiB);  // it stays whole
    for (const auto& [block, bytes] : blocks) pool.release(block, bytes);
    std::byte* const whole = pool.acquire(10 * kMiB);
    EXPECT_NE(whole, nullptr);  // what was free side by side is one
    pool.release(whole, 10 * kMiB);
    EXPECT_EQ(source.mapped, 1u);
  }
  EXPECT_EQ(source.held, 0u);
  MemoryPool none(kMiB, {.strategy = MemoryStrategy::Arena, .bytes = 2 * kMiB, .source = &source});
  EXPECT_EQ(none.acquire(1), nullptr);  // the limit is less than the arena
}

}  // namespace
}  // namespace kiln::cpu
