// The tiles' own functions at the edges of memory that may be touched.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "kiln/backend/cpu/amx/amx.hpp"
#include "kiln/backend/cpu/amx/tiles.hpp"

namespace kiln::cpu::amx {
namespace {

class AmxTiles : public testing::Test {
 protected:
  void SetUp() override {
    if (!available()) GTEST_SKIP() << "this machine has no products of bfloat16 vectors";
  }
};

/// Memory that ends where pages end that nobody may touch.
class Fenced {
 public:
  explicit Fenced(std::int64_t numbers)
      : page_(sysconf(_SC_PAGESIZE)), bytes_(static_cast<std::size_t>((numbers * 2 / page_ + 1) * page_)) {
    void* const pages = mmap(nullptr, bytes_ + static_cast<std::size_t>(page_), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(pages, MAP_FAILED);
    begin_ = static_cast<std::byte*>(pages);
    mprotect(begin_ + bytes_, static_cast<std::size_t>(page_), PROT_NONE);
    numbers_ = reinterpret_cast<std::uint16_t*>(begin_ + bytes_) - numbers;
  }
  ~Fenced() { munmap(begin_, bytes_ + static_cast<std::size_t>(page_)); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  std::uint16_t* numbers() const { return numbers_; }

 private:
  long page_;
  std::size_t bytes_;
  std::byte* begin_;
  std::uint16_t* numbers_;
};

std::vector<std::int64_t> sizes() { return {1, 2, 15, 16, 17, 31, 32}; }
std::vector<std::int64_t> depths() { return {1, 2, 31, 32, 33, 64, 65}; }

// Number j of line i is 100 i + j + 1: a left tile has it at [i][j], a right tile at [j / 2][2 i + j % 2].
TEST_F(AmxTiles, ArePackedFromWhatTheMatrixHasAndZeros) {
  for (const bool left : {true, false})
    for (const bool side_by_side : {true, false})
      for (const std::int64_t count : sizes())
        for (const std::int64_t depth : depths()) {
          const Fenced matrix(count * depth);
          const Lines lines{matrix.numbers(), side_by_side ? depth : 1, side_by_side ? 1 : count};
          for (std::int64_t i = 0; i < count; ++i)
            for (std::int64_t j = 0; j < depth; ++j)
              matrix.numbers()[i * lines.line + j * lines.along] = static_cast<std::uint16_t>(100 * i + j + 1);
          alignas(64) std::uint16_t packed[32 * 96 + 32];
          std::fill(std::begin(packed), std::end(packed), std::uint16_t{0xffff});
          (left ? pack_left : pack_right)(lines, count, depth, packed);
          const std::int64_t size = packed_size(count, depth), tiles = (count + 15) / 16;
          for (std::int64_t at = 0; at < size; ++at) {
            const std::int64_t tile = at / 512, row = at % 512 / 32, column = at % 32;
            const std::int64_t i = tile % tiles * 16 + (left ? row : column / 2);
            const std::int64_t j = tile / tiles * 32 + (left ? column : 2 * row + column % 2);
            ASSERT_EQ(packed[at], i < count && j < depth ? 100 * i + j + 1 : 0)
                << (left ? "left " : "right ") << count << " lines of " << depth << ", number " << at;
          }
          ASSERT_EQ(packed[size], 0xffff);
        }
}

// Sums 0, 1, 2, ... of a block, tile by tile: row i, column j is number (i / 16 * 2 + j / 16) * 256 + i % 16 * 16 + j % 16.
TEST_F(AmxTiles, AreStoredWhereTheResultIsAndNowhereElse) {
  alignas(64) float sums[kSums];
  for (std::int64_t i = 0; i < kSums; ++i) sums[i] = static_cast<float>(i % 256);
  for (const std::int64_t rows : sizes())
    for (const std::int64_t columns : sizes()) {
      const std::int64_t step = columns + 3;
      const Fenced result((rows - 1) * step + columns);
      std::fill_n(result.numbers(), (rows - 1) * step + columns, std::uint16_t{0x7777});
      store(sums, rows, columns, result.numbers(), step);
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < (i + 1 < rows ? step : columns); ++j) {
          const std::uint32_t bits = std::uint32_t{result.numbers()[i * step + j]} << 16;
          float number = 0;
          std::memcpy(&number, &bits, sizeof number);
          if (j < columns) ASSERT_EQ(number, static_cast<float>(i % 16 * 16 + j % 16)) << rows << " x " << columns;
          else ASSERT_EQ(result.numbers()[i * step + j], 0x7777) << rows << " x " << columns;
        }
    }
}

}  // namespace
}  // namespace kiln::cpu::amx
