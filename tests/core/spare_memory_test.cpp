#include "kiln/core/spare_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

#include "kiln/core/ref.hpp"

namespace kiln {
namespace {

struct Block {
  std::byte* data;
  std::size_t size;
};

// Fills each with a byte of its own, so that two that overlap are found.
std::vector<Block> take_all_sizes() {
  std::vector<Block> blocks;
  for (std::size_t size = 0; size < 1200; ++size) {
    auto* const data = static_cast<std::byte*>(cached_allocate(size));
    std::memset(data, static_cast<int>(size % 251), size);
    blocks.push_back({data, size});
  }
  return blocks;
}

bool intact(const Block& block) {
  return std::all_of(block.data, block.data + block.size,
                     [&](std::byte byte) { return byte == static_cast<std::byte>(block.size % 251); });
}

TEST(SpareMemory, BlocksOfAllSizesAreApart) {
  for (int round = 0; round < 3; ++round) {
    const std::vector<Block> blocks = take_all_sizes();
    EXPECT_TRUE(std::ranges::all_of(blocks, intact));
    for (const Block& block : blocks) cached_free(block.data, block.size);
  }
}

TEST(SpareMemory, AThreadMayGiveWhatAnotherTook) {
  for (int round = 0; round < 10; ++round) {
    std::vector<Block> blocks;
    std::thread([&] { blocks = take_all_sizes(); }).join();
    EXPECT_TRUE(std::ranges::all_of(blocks, intact));
    for (const Block& block : blocks) cached_free(block.data, block.size);
  }
}

TEST(SpareMemory, IsUsedAgain) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer is shown each use after the end";
#endif
  void* const first = cached_allocate(100);
  cached_free(first, 100);
  void* const second = cached_allocate(128);
  EXPECT_EQ(first, second);
  cached_free(second, 128);
}

TEST(SpareMemory, ServesContainers) {
  std::map<int, int, std::less<>, SpareAllocator<std::pair<const int, int>>> squares;
  for (int i = 0; i < 10000; ++i) squares[i] = i * i;
  for (int i = 0; i < 10000; i += 2) squares.erase(i);
  for (const auto& [number, square] : squares) EXPECT_EQ(square, number * number);
  EXPECT_EQ(squares.size(), 5000u);
}

struct Noted : RefCounted {
  explicit Noted(bool& gone) : gone(gone) {}
  ~Noted() override { gone = true; }
  bool& gone;
};

TEST(Ref, PermanentObjectsStay) {
  bool gone = false;
  Ref<Noted> ordinary = make_ref<Noted>(gone);
  ordinary = nullptr;
  EXPECT_TRUE(gone);

  gone = false;
  Ref<Noted> permanent = make_ref<Noted>(gone);
  Noted* const object = permanent.get();
  permanent->make_permanent();
  Ref<Noted> second = permanent;
  permanent = nullptr;
  second = nullptr;
  EXPECT_FALSE(gone);
  EXPECT_TRUE(object->is_permanent());
  EXPECT_FALSE(object->has_one_owner());
  delete object;
}

}  // namespace
}  // namespace kiln
