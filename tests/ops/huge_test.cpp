// Tensors of more than 2^31 elements: places and counts are 64 bits wide.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "kiln/ops/functions.hpp"

namespace kiln {
namespace {

constexpr std::int64_t kRows = (std::int64_t{1} << 15) + 1, kColumns = std::int64_t{1} << 16, kCount = kRows * kColumns;

#if defined(__SANITIZE_THREAD__)
constexpr std::int64_t kShadow = 4;  // the sanitizer keeps several bytes for each
#else
constexpr std::int64_t kShadow = 1;
#endif

/// Bytes that the system could hand out now, and that addresses reach; 0 where it does not say.
std::int64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  while (file >> word)
    if (word == "MemAvailable:") {
      std::uint64_t kilobytes = 0;
      file >> kilobytes;
      return static_cast<std::int64_t>(
          std::min<std::uint64_t>(kilobytes * 1024, std::numeric_limits<std::size_t>::max()));
    }
  return 0;
}

class Huge : public testing::Test {
 protected:
  void SetUp() override {
    const std::int64_t needed = 2 * kCount * kShadow;
    if (available_memory() < needed)
      GTEST_SKIP() << "needs " << needed / 1000000 << " MB, there are " << available_memory() / 1000000;
  }
};

TEST_F(Huge, FunctionsAndViewsReachTheLastElement) {
  const Value row = cast(arange(0, kColumns, 1, Device::cpu()), DType::U8);  // 0 ... 255, again and again
  const Value x = add(expand(row, {kRows, kColumns}), 250);
  const Value flat = reshape(x, {-1});
  EXPECT_EQ(flat.numel(), kCount);
  const auto elements = [&](std::int64_t from) { return narrow(flat, 0, from, 4).data().to_vector<int>(); };
  EXPECT_EQ(elements(0), (std::vector<int>{250, 251, 252, 253}));
  EXPECT_EQ(elements((std::int64_t{1} << 31) - 2), (std::vector<int>{248, 249, 250, 251}));
  EXPECT_EQ(elements(kCount - 4), (std::vector<int>{246, 247, 248, 249}));

  EXPECT_EQ(at(at(transpose(x), 0, -1), 0, -1).item(), 249);
  EXPECT_EQ(at(at(flip(x, {0, 1}), 0, 0), 0, 2).item(), 247);
  const Range backwards{{}, {}, -3};
  EXPECT_EQ(at(slice(flat, {&backwards, 1}), 0, 1).item(), 246);
  EXPECT_EQ(at(reshape(narrow(flat, 0, 0, std::int64_t{1} << 31), {2, -1}), 0, 1).numel(), std::int64_t{1} << 30);
}

TEST_F(Huge, ViewsOfOneElementTakeNoMemory) {
  const Value x = expand(full({1, 1}, 2.5, Device::cpu()), {kCount, 3});
  EXPECT_EQ(x.numel(), 3 * kCount);
  EXPECT_EQ(at(at(permute(x, {1, 0}), 1, kCount - 1), 0, 2).item(), 2.5);
}

}  // namespace
}  // namespace kiln
