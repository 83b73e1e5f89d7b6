// The tiles' own functions at the edges of memory that may be touched.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "kiln/backend/cpu/amx/amx.hpp"
#include "kiln/backend/cpu/amx/block.hpp"
#include "kiln/core/dtype.hpp"

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
          const TileLines lines{matrix.numbers(), side_by_side ? depth : 1, side_by_side ? 1 : count};
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

// Sums 0, 1, 2, ... of a block, tile by tile: row i, column j is number (i / 16 * 2 + j / 16) * 256 + i % 16 * 16 + j %
// 16.
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

/// Multiplies a block as one of the ways does it that the processor has.
struct Way {
  const char* name;
  bool there;
  void (*multiply)(const std::uint16_t* left, const std::uint16_t* right, std::int64_t rows, std::int64_t columns,
                   std::int64_t depth, bool add, float* sums, TileOffsets at);
};
std::vector<Way> ways() {
  return {{"tiles", has_tiles(), multiply_on_tiles},
          {"vectors", available(), [](auto... call) { multiply_on_vectors(call..., {}, {}); }}};
}

/// Lines of eighths, of which products and their sums are exact in float32.
struct Eighths {
  std::vector<float> numbers;
  std::vector<std::uint16_t> halves;

  Eighths(std::int64_t count, int seed) {
    for (std::int64_t i = 0; i < count; ++i) {
      numbers.push_back(static_cast<float>((i * 37 + seed) % 41 - 20) / 8);
      halves.push_back(std::bit_cast<std::uint16_t>(BF16(numbers.back())));
    }
  }
};

/// left [rows, depth] right [columns, depth]^T of eighths, and twice as much after a second time.
void check_block(const Way& way, std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  const Eighths a(rows * depth, 1), b(columns * depth, 2);
  alignas(64) std::uint16_t left[32 * 96], right[32 * 96];
  alignas(64) float sums[kSums];
  pack_left({a.halves.data(), depth, 1}, rows, depth, left);
  pack_right({b.halves.data(), depth, 1}, columns, depth, right);
  const Tiles tiles;
  for (const int times : {1, 2}) {
    way.multiply(left, right, rows, columns, depth, times > 1, sums, kTileByTile);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        double expected = 0;
        for (std::int64_t l = 0; l < depth; ++l)
          expected += double{a.numbers[static_cast<std::size_t>(i * depth + l)]} *
                      double{b.numbers[static_cast<std::size_t>(j * depth + l)]};
        ASSERT_EQ(sums[(i / 16 * 2 + j / 16) * 256 + i % 16 * 16 + j % 16], times * expected)
            << way.name << ", " << rows << " x " << depth << " x " << columns << " at " << i << ", " << j;
      }
  }
}

TEST_F(AmxTiles, AreMultipliedAndAddedUp) {
  for (const Way& way : ways())
    if (way.there)
      for (const std::int64_t rows : {1, 2, 3, 5, 8, 9, 11, 15, 16, 17, 23, 29, 32})
        for (const std::int64_t columns : sizes())
          for (const std::int64_t depth : depths()) check_block(way, rows, columns, depth);
}

/// What is rounded as it is made is what is made and then rounded, and goes where the result is and nowhere else.
TEST_F(AmxTiles, AreStoredAtOnceAsAfterwards) {
  const Eighths a(32 * 96, 3), b(32 * 96, 4);
  alignas(64) std::uint16_t left[32 * 96], right[32 * 96];
  alignas(64) float sums[kSums];
  const Tiles tiles;
  for (const std::int64_t rows : {1, 7, 8, 9, 16, 21, 32})
    for (const std::int64_t columns : sizes())
      for (const std::int64_t depth : depths()) {
        pack_left({a.halves.data(), 96, 1}, rows, depth, left);
        pack_right({b.halves.data(), 96, 1}, columns, depth, right);
        const std::int64_t step = columns + 3, size = (rows - 1) * step + columns;
        const Fenced at_once(size), afterwards(size);
        std::fill_n(at_once.numbers(), size, std::uint16_t{0x7777});
        std::fill_n(afterwards.numbers(), size, std::uint16_t{0x7777});
        multiply(left, right, rows, columns, depth, false, sums);
        multiply(left, right, rows, columns, depth, true, sums);
        store(sums, rows, columns, afterwards.numbers(), step);
        multiply(left, right, rows, columns, depth, false, sums);
        multiply(left, right, rows, columns, depth, true, sums, kTileByTile, {at_once.numbers(), step},
                 {a.halves.data(), 96});
        ASSERT_TRUE(std::equal(at_once.numbers(), at_once.numbers() + size, afterwards.numbers()))
            << rows << " x " << depth << " x " << columns;
      }
}

TEST_F(AmxTiles, AreRoundedTileByTileAlone) {
  alignas(64) static std::uint16_t left[32 * 32], right[32 * 32], rounded[32 * 32];
  alignas(64) static float sums[kSums];
  const Tiles tiles;
  EXPECT_DEATH(multiply(left, right, 32, 32, 32, false, sums, in_rows(32), {rounded, 32}), "broken invariant: ");
}

}  // namespace
}  // namespace kiln::cpu::amx
