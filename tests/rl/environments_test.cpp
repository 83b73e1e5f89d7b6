// Environments beside Gymnasium's, whose answers gymnasium.safetensors has (gymnasium_figures.py).
#include "kiln/rl/environments/environments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "kiln/rl/wrappers.hpp"
#include "tests/rl/figures.hpp"
#include "tests/rl/said.hpp"

namespace kiln::rl {
namespace {

/// A state of the environment with these numbers, in the middle of an episode.
std::vector<double> state_of(std::span<const double> numbers) {
  std::vector<double> state = {0, 1, 0, 1};
  state.insert(state.end(), numbers.begin(), numbers.end());
  return state;
}

std::map<std::string, EnvironmentPtr> all() {
  std::map<std::string, EnvironmentPtr> all;
  all["CartPole"] = cart_pole();
  all["Pendulum"] = pendulum();
  all["MountainCar"] = mountain_car();
  all["ContinuousMountainCar"] = continuous_mountain_car();
  all["Acrobot"] = acrobot();
  return all;
}

TEST(Environments, AnswerAsGymnasiumDoes) {
  for (const auto& [name, world] : all()) {
    SCOPED_TRACE(name);
    const std::vector<double> states = stored(name + ".states").to_vector<double>();
    const std::vector<float> actions = stored(name + ".actions").to_vector<float>();
    const std::vector<float> seen = stored(name + ".seen").to_vector<float>();
    const std::vector<double> rewards = stored(name + ".rewards").to_vector<double>();
    const std::vector<std::uint8_t> ends = stored(name + ".ends").to_vector<std::uint8_t>();
    const std::size_t steps = rewards.size(), numbers = states.size() / steps, shown = seen.size() / steps;
    std::vector<float> observation(shown);
    int ended = 0;
    for (std::size_t i = 0; i < steps; ++i) {
      world->set_state(state_of(std::span(states).subspan(i * numbers, numbers)));
      const Outcome outcome = world->step(std::span(actions).subspan(i, 1), observation);
      for (std::size_t j = 0; j < shown; ++j) EXPECT_NEAR(observation[j], seen[i * shown + j], 1e-6) << "step " << i;
      EXPECT_NEAR(outcome.reward, rewards[i], 1e-6) << "step " << i;
      EXPECT_EQ(outcome.terminated, ends[i] != 0) << "step " << i;
      EXPECT_FALSE(outcome.truncated);
      ended += ends[i];
    }
    EXPECT_TRUE(ended > 0 || name == "Pendulum") << "no end was compared";
  }
}

TEST(Environments, LakesSlipAsGymnasiumsDo) {
  const std::vector<std::string> large = {"SFFFFFFF", "FFFFFFFF", "FFFHFFFF", "FFFFFHFF",
                                          "FFFHFFFF", "FHHFFFHF", "FHFFHFHF", "FFFHFFFG"};
  for (const bool slippery : {false, true})
    for (const bool is_large : {false, true}) {
      const EnvironmentPtr world =
          is_large ? frozen_lake(large, slippery) : frozen_lake({"SFFF", "FHFH", "FFFH", "HFFG"}, slippery);
      const std::int64_t side = is_large ? 8 : 4;
      const TensorData table =
          stored(std::string("lake.") + (is_large ? "8x8" : "4x4") + (slippery ? ".slippery" : ""));
      const std::vector<double> ways = table.to_vector<double>();
      const auto count = static_cast<std::size_t>(table.shape()[2]);
      for (std::int64_t field = 0; field < side * side; ++field) {
        const std::size_t row = static_cast<std::size_t>(field) * 4;
        if (ways[row * count * 4 + 3] != 0 && ways[row * count * 4] == 1 &&
            ways[row * count * 4 + 1] == static_cast<double>(field))
          continue;  // a hole or the goal, from where Gymnasium does not go on
        for (std::size_t action = 0; action < 4; ++action) {
          using Way = std::array<double, 3>;  // the next field, the reward, the end
          std::map<Way, double> expected;
          for (std::size_t way = 0; way < count; ++way) {
            const double* const at = &ways[((row + action) * count + way) * 4];
            if (at[0] > 0) expected[{at[1], at[2], at[3]}] += at[0];
          }
          constexpr int kTries = 600;
          std::map<Way, double> found;
          for (int i = 0; i < (slippery ? kTries : 1); ++i) {
            std::vector<double> state =
                state_of(std::array{static_cast<double>(field / side), static_cast<double>(field % side)});
            state[1] = i;  // the seed
            world->set_state(state);
            const auto chosen = static_cast<float>(action);
            float next = 0;
            const Outcome outcome = world->step({&chosen, 1}, {&next, 1});
            found[{next, outcome.reward, outcome.terminated ? 1.0 : 0.0}] += slippery ? 1.0 / kTries : 1;
          }
          ASSERT_EQ(found.size(), expected.size()) << "field " << field << ", action " << action;
          for (const auto& [way, probability] : expected)
            EXPECT_NEAR(found[way], probability, 0.1) << "field " << field << ", action " << action;
        }
      }
    }
}

TEST(Environments, GridWorldIsSolvedAlongItsEdge) {
  const EnvironmentPtr world = grid_world(3);
  std::vector<float> seen(2);
  world->reset(seen);
  EXPECT_THAT(seen, testing::ElementsAre(0, 0));
  double sum = 0;
  Outcome outcome;
  for (const float action : {0.0f, 1.0f, 1.0f, 2.0f, 2.0f}) {
    EXPECT_FALSE(outcome.over());
    outcome = world->step({&action, 1}, seen);
    sum += outcome.reward;
  }
  EXPECT_TRUE(outcome.terminated);
  EXPECT_THAT(seen, testing::ElementsAre(1, 1));
  EXPECT_NEAR(sum, 1 - 4.0 / 9, 1e-12);
}

/// Plays with the paddle where the ball will come down, or stays away from there.
double caught(bool well, std::uint64_t seed) {
  const EnvironmentPtr world = catch_ball(10);
  world->seed(seed);
  std::vector<float> seen(100);
  world->reset(seen);
  double sum = 0;
  for (Outcome outcome; !outcome.over();) {
    std::int64_t ball = -1, paddle = 0;
    for (std::int64_t i = 0; i < 100; ++i) {
      if (seen[static_cast<std::size_t>(i)] == 0) continue;
      if (i < 90) ball = i % 10;
      else if (i % 10 > paddle) paddle = i % 10 - 1;
    }
    const std::int64_t wanted = well ? ball : (ball < 5 ? 8 : 1);
    const float action = wanted < paddle ? 0.0f : wanted > paddle ? 2.0f : 1.0f;
    outcome = world->step({&action, 1}, seen);
    sum += outcome.reward;
  }
  return sum;
}

TEST(Environments, BallsAreCaughtByWhoFollowsThem) {
  double badly = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(caught(true, seed), 5);
    badly += caught(false, seed) / 20;
  }
  EXPECT_LT(badly, -1);
}

TEST(Environments, SeedsSayWhatHappens) {
  for (const auto& [name, world] : all()) {
    std::vector<float> first(static_cast<std::size_t>(world->observations().size())), second = first, other = first;
    world->seed(5);
    world->reset(first);
    world->seed(5);
    world->reset(second);
    world->seed(6);
    world->reset(other);
    EXPECT_EQ(first, second) << name;
    EXPECT_NE(first, other) << name;
    EXPECT_TRUE(world->observations().contains(first)) << name;
  }
}

TEST(Environments, GoOnFromAState) {
  std::map<std::string, EnvironmentPtr> worlds = all(), others = all();
  worlds["FrozenLake"] = frozen_lake(), others["FrozenLake"] = frozen_lake();
  worlds["GridWorld"] = grid_world(), others["GridWorld"] = grid_world();
  worlds["CatchBall"] = catch_ball(), others["CatchBall"] = catch_ball();
  for (const auto& [name, world] : worlds) {
    SCOPED_TRACE(name);
    Environment& other = *others.at(name);
    std::vector<float> seen(static_cast<std::size_t>(world->observations().size())), again = seen;
    std::vector<float> action(static_cast<std::size_t>(world->actions().size()));
    Random random(7);
    world->seed(0xfedcba9876543210);
    world->reset(seen);
    for (int i = 0; i < 40; ++i) {
      if (!world->running()) world->reset(seen);
      other.set_state(world->state());
      EXPECT_EQ(other.state(), world->state());
      world->actions().sample(random, action);
      const Outcome one = world->step(action, seen), two = other.step(action, again);
      EXPECT_EQ(seen, again);
      EXPECT_EQ(one.reward, two.reward);
      EXPECT_EQ(one.over(), two.over());
    }
    std::vector<double> wrong = world->state();
    wrong.pop_back();
    const std::vector<double> before = world->state();
    EXPECT_THROW(world->set_state(wrong), DataError);
    EXPECT_THROW(world->set_state({}), DataError);
    EXPECT_EQ(world->state(), before);
  }
}

TEST(Environments, DrawPictures) {
  std::map<std::string, EnvironmentPtr> worlds = all();
  worlds["FrozenLake"] = frozen_lake();
  worlds["CatchBall"] = catch_ball();
  for (const auto& [name, world] : worlds) {
    std::vector<float> seen(static_cast<std::size_t>(world->observations().size()));
    std::vector<float> action(static_cast<std::size_t>(world->actions().size()));
    world->seed(2);
    world->reset(seen);
    const Picture before = world->render();
    EXPECT_GT(before.height, 50) << name;
    Random random(0);
    bool changed = false;
    for (int i = 0; i < 20 && world->running() && !changed; ++i) {
      world->actions().sample(random, action);
      world->step(action, seen);
      changed = world->render() != before;
    }
    EXPECT_TRUE(changed) << name;
  }
}

// ---- wrong calls ---------------------------------------------------------------------------------------------------

/// Does as it is told by `what`.
class Odd final : public Environment {
 public:
  Odd() : Environment("Odd", Space::box({2}, -1, 1), Space::discrete(2)) {}
  std::string what;

 private:
  void begin(std::span<float> seen) override { seen[0] = seen[1] = what == "start" ? INFINITY : 0; }
  Outcome advance(std::span<const float>, std::span<float> seen) override {
    if (what == "throw") fail<ArgumentError>("no more");
    if (what == "seen") seen[1] = NAN;
    return {.reward = what == "reward" ? NAN : 1};
  }
};

/// Shows an index that its space does not have.
class Beyond final : public Environment {
 public:
  explicit Beyond(float index) : Environment("Beyond", Space::discrete(3), Space::discrete(2)), index_(index) {}

 private:
  void begin(std::span<float> seen) override { seen[0] = index_; }
  Outcome advance(std::span<const float>, std::span<float>) override { return {}; }

  float index_;
};

TEST(Environments, ShowNoIndexThatTheirSpaceLacks) {
  for (const float index : {3.0f, -1.0f, 0.5f}) {
    const EnvironmentPtr world = one_hot(std::make_unique<Beyond>(index));
    std::vector<float> seen(3);
    EXPECT_EQ(said([&] { world->reset(seen); }),
              text("DataError: Beyond: its observation is ", index, ", and must be one of 0 to 2"));
  }
}

TEST(Environments, SayWhatIsWrong) {
  const EnvironmentPtr world = cart_pole();
  std::vector<float> seen(4);
  float action = 0;
  const auto step = [&] { world->step({&action, 1}, seen); };
  EXPECT_EQ(said(step), "ArgumentError: CartPole: no episode is running: call reset() first");
  world->reset(seen);
  action = 2;
  EXPECT_EQ(said(step), "ArgumentError: CartPole: action 2 is not one of 0 to 1");
  action = 0.5;
  EXPECT_EQ(said(step), "ArgumentError: CartPole: action 0.5 is not one of 0 to 1");
  action = NAN;
  EXPECT_THAT(said(step), testing::HasSubstr("CartPole: action nan"));
  EXPECT_EQ(said([&] { world->step(seen, seen); }), "ArgumentError: CartPole: action has 1 numbers, got 4");
  EXPECT_EQ(said([&] { world->reset(std::span(seen).first(3)); }),
            "ShapeError: CartPole shows 4 numbers; there is room for 3");
  EXPECT_TRUE(world->running());
  action = 1;
  while (!world->step({&action, 1}, seen).over()) {}
  EXPECT_EQ(said(step), "ArgumentError: CartPole: no episode is running: call reset() first");

  const EnvironmentPtr swing = pendulum();
  std::vector<float> three(3);
  swing->reset(three);
  action = 2.5;
  EXPECT_EQ(said([&] { swing->step({&action, 1}, three); }),
            "ArgumentError: Pendulum: action: number 0 is 2.5, and must lie between -2 and 2");

  for (const auto& [what, sentence] : std::map<std::string, std::string>{
           {"seen", "DataError: Odd: number 1 of its observation is nan, and must be finite"},
           {"reward", "DataError: Odd: the reward is nan, and must be finite"},
           {"throw", "ArgumentError: no more"}}) {
    Odd odd;
    std::vector<float> two(2);
    action = 0;
    odd.reset(two);
    odd.what = what;
    EXPECT_EQ(said([&] { odd.step({&action, 1}, two); }), sentence);
    EXPECT_FALSE(odd.running());
  }
  Odd odd;
  std::vector<float> two(2);
  odd.what = "start";
  EXPECT_EQ(said([&] { odd.reset(two); }), "DataError: Odd: number 0 of its observation is inf, and must be finite");
  EXPECT_THAT(said([&] { (void)odd.render(); }), testing::HasSubstr("Odd has no picture"));
  EXPECT_THAT(said([&] { (void)odd.state(); }), testing::HasSubstr("Odd does not define its state"));

  EXPECT_THAT(said([] { (void)frozen_lake({"SF", "F"}); }), testing::HasSubstr("rows must be of one length"));
  EXPECT_THAT(said([] { (void)frozen_lake({"SFX"}); }), testing::HasSubstr("letters other than S, F, H and G"));
  EXPECT_THAT(said([] { (void)frozen_lake({"SS", "FG"}); }), testing::HasSubstr("2 starts and 1 goals"));
  EXPECT_THAT(said([] { (void)frozen_lake({}); }), testing::HasSubstr("0 starts and 0 goals"));
  EXPECT_THAT(said([] { (void)grid_world(1); }), testing::HasSubstr("side = 1 must be"));
  EXPECT_THAT(said([] { (void)catch_ball(4); }), testing::HasSubstr("side = 4 must be"));
  EXPECT_THAT(said([] { (void)pendulum(NAN); }), testing::HasSubstr("must be finite"));
}

TEST(Spaces, SayWhatTheyContain) {
  const Space two = Space::discrete(2), box = Space::box({2, 1}, {-1, 0}, {1, std::numeric_limits<float>::infinity()});
  EXPECT_TRUE(two.contains(std::array{1.0f}));
  EXPECT_FALSE(two.contains(std::array{-0.5f}));
  EXPECT_TRUE(box.contains(std::array{-1.0f, 1e30f}));
  EXPECT_FALSE(box.contains(std::array{-1.0f, -1e-30f}));
  EXPECT_FALSE(box.contains(std::array{-1.0f}));
  Random random(1);
  for (int i = 0; i < 100; ++i) {
    std::array<float, 2> point{};
    box.sample(random, point);
    EXPECT_TRUE(box.contains(point));
    two.sample(random, std::span(point).first(1));
    EXPECT_TRUE(two.contains(std::span(point).first(1)));
  }
  EXPECT_THAT(said([] { (void)Space::discrete(0); }), testing::HasSubstr("count = 0 must be 1 to 2^24"));
  EXPECT_THAT(said([] { (void)Space::box({2}, {0, 1}, {1, 0}); }), testing::HasSubstr("number 1 lies between 1 and 0"));
  EXPECT_THAT(said([] { (void)Space::box({2}, {0, NAN}, {1, 1}); }), testing::HasSubstr("which are not in order"));
  EXPECT_THAT(said([] { (void)Space::box({2}, {0}, {1, 1}); }), testing::HasSubstr("got 1 lower and 2 upper"));
  EXPECT_THAT(said([] { (void)Space::box({0}, 0, 1); }), testing::HasSubstr("at least one"));
}

}  // namespace
}  // namespace kiln::rl
