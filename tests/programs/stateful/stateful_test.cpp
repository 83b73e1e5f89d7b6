// 500 random networks under random schedules have the values and gradients of the plain kernels in float64, and the same
// bits whenever they run; KILN_TEST_LONG=1 makes that 20,000.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "tests/programs/stateful/batch.hpp"
#include "tests/programs/stateful/check.hpp"
#include "tests/support/long.hpp"
#include "tests/support/mistaken.hpp"

namespace kiln::stateful {
namespace {

constexpr int kParts = 10;

class StatefulPrograms : public testing::TestWithParam<int> {};

TEST_P(StatefulPrograms, HaveTheValuesAndTheBitsOfTheirMeaning) {
  const std::uint64_t count = test::is_long() ? 2000 : 50;
  const Outcome outcome = run_batches(static_cast<std::uint64_t>(GetParam()) * count, count, 1);
  EXPECT_EQ(outcome.programs, static_cast<std::int64_t>(count));
  for (const std::string& wrong : outcome.wrong) ADD_FAILURE() << wrong;
  EXPECT_TRUE(outcome.good()) << outcome.doubtful.size() << " are doubtful, the first: "
                              << (outcome.doubtful.empty() ? std::string() : outcome.doubtful[0]);
  // An error bound that lets anything pass proves nothing.
  EXPECT_GT(outcome.seen, outcome.programs * 10);
  EXPECT_LT(outcome.vague, outcome.seen / 10);
}
INSTANTIATE_TEST_SUITE_P(Seeds, StatefulPrograms, testing::Range(0, kParts));

// ---- it can fail ---------------------------------------------------------------------------------------------------

/// Are five of the first 60 programs wrong on a processor with that mistake?
bool is_found(std::function<bool(const op::Op&)> mistake) {
  set_processor(Device(make_ref<test::Mistaken>(std::move(mistake))));
  int found = 0;
  for (std::uint64_t seed = 0; seed < 60 && found < 5; ++seed) found += check(make_program(seed)).wrong.has_value();
  set_processor({});
  return found == 5;
}

template <class Op>
bool is(const op::Op& op) {
  return std::holds_alternative<Op>(op.is);
}

TEST(AMistakeOfAThousandth, InAWeightGradientIsFound) { EXPECT_TRUE(is_found(is<op::ConvWeightGrad>)); }
TEST(AMistakeOfAThousandth, InAReductionIsFound) { EXPECT_TRUE(is_found(is<op::Reduce>)); }
TEST(AMistakeOfAThousandth, ThatComesAndGoesIsFound) {
  std::atomic<int> calls = 0;
  EXPECT_TRUE(is_found([&](const op::Op& op) { return is<op::Matmul>(op) && ++calls % 100 == 0; }));
}

}  // namespace
}  // namespace kiln::stateful

int main(int argc, char** argv) {
  bool handled = false;
  const int status = kiln::stateful::main_of(argc, argv, handled);
  if (handled) return status;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
