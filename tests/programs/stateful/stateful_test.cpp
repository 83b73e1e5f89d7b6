// 500 random networks under random schedules have the values and gradients of the plain kernels in float64, and the same
// bits whenever they run; KILN_TEST_LONG=1 makes that 20,000.
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "tests/programs/stateful/batch.hpp"
#include "tests/programs/stateful/check.hpp"
#include "tests/support/long.hpp"

namespace kiln::stateful {
namespace {

constexpr int kParts = 5;

class StatefulPrograms : public testing::TestWithParam<int> {};

TEST_P(StatefulPrograms, HaveTheValuesAndTheBitsOfTheirMeaning) {
  const std::uint64_t count = test::is_long() ? 4000 : 100;
  const Outcome outcome = run_batches(static_cast<std::uint64_t>(GetParam()) * count, count, 1);
  EXPECT_EQ(outcome.programs, static_cast<std::int64_t>(count));
  for (const std::string& wrong : outcome.wrong) ADD_FAILURE() << wrong;
  // An error bound that lets anything pass proves nothing.
  EXPECT_GT(outcome.seen, outcome.programs * 10);
  EXPECT_LT(outcome.vague, outcome.seen / 10);
}
INSTANTIATE_TEST_SUITE_P(Seeds, StatefulPrograms, testing::Range(0, kParts));

}  // namespace
}  // namespace kiln::stateful

int main(int argc, char** argv) {
  bool handled = false;
  const int status = kiln::stateful::main_of(argc, argv, handled);
  if (handled) return status;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
