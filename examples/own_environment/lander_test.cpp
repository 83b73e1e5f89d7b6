// The test of an environment of one's own: it moves as it is to, its spaces are true, a seed decides all that happens, and it
// goes on from a state. What every environment must refuse (actions that it does not have, NaN) Kiln checks by itself.
#include "lander.hpp"

#include <gtest/gtest.h>

namespace example {
namespace {

using namespace kiln;

/// Plays with the engine off, or on where `burns` says so of the observation; the last outcome.
template <class F>
rl::Outcome play(Lander& lander, F burns) {
  std::vector<float> seen(3);
  lander.reset(seen);
  rl::Outcome outcome;
  for (int step = 0; step < 1000 && !outcome.over(); ++step) {
    const float action = burns(seen) ? 1 : 0;
    outcome = lander.step({&action, 1}, seen);
    EXPECT_TRUE(lander.observations().contains(seen));
  }
  EXPECT_TRUE(outcome.terminated);
  return outcome;
}

TEST(Lander, FallsAndIsBraked) {
  Lander lander;
  lander.seed(1);
  EXPECT_LT(play(lander, [](const auto&) { return false; }).reward, -1);
  // Braking as soon as the height is no more than what that takes, v^2 / (2 * 2.4 m/s^2), a step's fall and two metres.
  const rl::Outcome gentle = play(lander, [](const std::vector<float>& seen) {
    const double height = 100 * seen[0], velocity = 10 * seen[1];
    return velocity < -1 && height < velocity * velocity / 4.8 - velocity / 2 + 2;
  });
  EXPECT_GT(gentle.reward, 10);
}

TEST(Lander, FollowsItsEquations) {
  Lander lander;
  std::vector<float> seen(3);
  lander.reset(seen);
  lander.set_state(
      std::vector<double>{0, 0, 0, 1, 50, -4, 0.5, 0});  // the seed, the calls, it runs; height, velocity, fuel
  const float on = 1;
  EXPECT_EQ(lander.step({&on, 1}, seen).reward, 0);
  EXPECT_NEAR(seen[1], (-4 + 0.5 * 2.4) / 10, 1e-6);
  EXPECT_NEAR(seen[0], (50 + 0.5 * (-4 + 0.5 * 2.4)) / 100, 1e-6);
  EXPECT_NEAR(seen[2], 0.46, 1e-6);
}

TEST(Lander, IsDecidedByItsSeedAndItsState) {
  Lander one, two;
  std::vector<float> seen(3), again(3);
  one.seed(7), two.seed(7);
  one.reset(seen), two.reset(again);
  EXPECT_EQ(seen, again);
  two.seed(8);
  two.reset(again);
  EXPECT_NE(seen, again);
  two.set_state(one.state());
  const float off = 0;
  EXPECT_EQ(one.step({&off, 1}, seen).reward, two.step({&off, 1}, again).reward);
  EXPECT_EQ(seen, again);
  EXPECT_EQ(one.render(), two.render());
}

}  // namespace
}  // namespace example
