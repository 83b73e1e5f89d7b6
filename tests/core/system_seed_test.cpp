#include "kiln/core/system/system_seed.hpp"

#include <gtest/gtest.h>

#include <set>

#include "kiln/core/random.hpp"

namespace kiln {
namespace {

TEST(SystemSeed, DiffersEachTimeInBothHalves) {
  std::set<std::uint64_t> high, low;
  for (int i = 0; i < 16; ++i) {
    const std::uint64_t seed = seed_from_system();
    high.insert(seed >> 32), low.insert(seed & 0xFFFFFFFFu);
  }
  EXPECT_GT(high.size(), 12u);
  EXPECT_GT(low.size(), 12u);
}

TEST(SystemSeed, RepeatsARunThatKnowsIt) {
  const std::uint64_t seed = seed_from_system();
  Generator first(seed), second(seed);
  EXPECT_EQ(first.next(), second.next());
}

}  // namespace
}  // namespace kiln
