#include "kiln/backend/cpu/integer/tiles.hpp"

#include "kiln/backend/cpu/integer/panels.hpp"
#include "tests/backend/integer/bytes.hpp"

namespace kiln::cpu::integer {
namespace {

std::int64_t round_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b * b; }

/// Left operands of extremes only, so that a sum of two products does not fit into 16 bits.
TEST(IntegerTiles, AllMakeTheSumsOfALoop) {
  ASSERT_FALSE(all_tiles().empty());
  for (const Tiles* tiles : all_tiles())
    for (const std::int64_t m : {1, 2, 3, 5, 8, 12, 13, 16, 17, 31, 32, 33, 50})
      for (const std::int64_t n : {1, 15, 16, 17, 32, 48, 70, 130})
        for (const std::int64_t k : {1, 3, 4, 7, 63, 64, 65, 200}) {
          const std::int64_t rows = round_up(m, tiles->rows), depth = round_up(k, tiles->depth), step = round_up(k, 64),
                             columns = round_up(n, kPanel);
          const Value a = random_bytes({rows, step}, DType::U8, 1), b = random_bytes({k, n}, DType::I8, 2);
          const PackPanels packer{n, 1, k, 1, 0, n, false, {1}, {0}};
          std::vector<std::byte> packed(packer.bytes());
          packer.pack(read(b).data, packed.data());
          std::vector<std::int32_t> sums(static_cast<std::size_t>(rows * columns), 7);
          tiles->multiply(read(a).as<std::uint8_t>(), step, m, PackPanels::panels_of(packed.data()),
                          packer.panel_size(), columns / kPanel, depth, sums.data(), columns);
          const std::vector<std::int64_t> x = whole_numbers(a), y = whole_numbers(b);
          for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
              std::int64_t sum = 0;
              for (std::int64_t l = 0; l < k; ++l)
                sum += x[static_cast<std::size_t>(i * step + l)] * y[static_cast<std::size_t>(l * n + j)];
              ASSERT_EQ(sums[static_cast<std::size_t>(i * columns + j)], sum)
                  << tiles->name << ' ' << m << ' ' << n << ' ' << k << " at " << i << ", " << j;
            }
        }
}

TEST(IntegerTiles, WrapAroundWhereSumsAreTooLarge) {
  constexpr std::int64_t kTerms = 140000;  // times 255 times 127 is more than 2^32
  std::vector<std::uint8_t> left(16 * kTerms + 64, 255);
  const Value b = tensor({kTerms, 1}, DType::I8);
  Value right = b;
  std::fill_n(allocate(right).as<std::int8_t>(), kTerms, std::int8_t{127});
  const PackPanels packer{1, 1, kTerms, 1, 0, 1, false, {1}, {0}};
  std::vector<std::byte> packed(packer.bytes());
  packer.pack(read(right).data, packed.data());
  for (const Tiles* tiles : all_tiles()) {
    std::int32_t sums[16 * kPanel];
    tiles->multiply(left.data(), kTerms, 1, PackPanels::panels_of(packed.data()), packer.panel_size(), 1,
                    round_up(kTerms, tiles->depth), sums, kPanel);
    EXPECT_EQ(sums[0], wrapped(kTerms * 255 * 127)) << tiles->name;
  }
}

TEST(IntegerTiles, ChoosesForFewRows) {
  EXPECT_EQ(&tiles_for(1000), all_tiles().front());
  EXPECT_EQ(tiles_for(1).rows, 1);
}

}  // namespace
}  // namespace kiln::cpu::integer
