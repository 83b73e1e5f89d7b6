// Environments side by side, and environments around others.
#include "kiln/rl/vector_environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "kiln/rl/environments/environments.hpp"
#include "kiln/rl/wrappers.hpp"
#include "tests/rl/said.hpp"

namespace kiln::rl {
namespace {

/// Counts its steps, shows the count, and ends after `length` of them; the reward is the count.
class Counter final : public Environment {
 public:
  explicit Counter(std::int64_t length, std::int64_t fails_at = -1)
      : Environment("Counter", Space::box({1}, 0, 1000), Space::discrete(2)), length_(length), fails_at_(fails_at) {}

 private:
  void begin(std::span<float> seen) override { seen[0] = static_cast<float>(count_ = 0); }
  Outcome advance(std::span<const float>, std::span<float> seen) override {
    if (++count_ == fails_at_) fail<DataError>("a sensor is gone");
    seen[0] = static_cast<float>(count_);
    return {.reward = static_cast<double>(count_), .terminated = count_ == length_};
  }
  Picture picture() const override {
    Picture picture = blank(4, 6, 3);
    picture.at(count_ % 4, 0)[0] = 255;
    return picture;
  }
  std::vector<double> numbers() const override { return {static_cast<double>(count_)}; }
  bool take(std::span<const double> numbers) override {
    if (numbers.size() != 1) return false;
    count_ = static_cast<std::int64_t>(numbers[0]);
    return true;
  }

  std::int64_t length_, fails_at_, count_ = 0;
};
EnvironmentPtr counter(std::int64_t length) { return std::make_unique<Counter>(length); }

TEST(VectorEnvironment, StepsAllAndBeginsEpisodesAnew) {
  std::int64_t made = 0;
  VectorEnvironment worlds([&] { return counter(2 + made++); }, 2, 1);  // episodes of two and of three steps
  const std::vector<float> actions = {0, 1};
  EXPECT_THAT(worlds.observations(), testing::ElementsAre(0, 0));
  worlds.step(actions);
  EXPECT_THAT(worlds.observations(), testing::ElementsAre(1, 1));
  EXPECT_TRUE(worlds.ended().empty());
  worlds.step(actions);
  EXPECT_THAT(worlds.observations(), testing::ElementsAre(0, 2));
  EXPECT_THAT(worlds.final_observations(), testing::ElementsAre(2, 2));
  EXPECT_TRUE(worlds.outcomes()[0].terminated);
  EXPECT_FALSE(worlds.outcomes()[1].over());
  ASSERT_EQ(worlds.ended().size(), 1u);
  EXPECT_EQ(worlds.ended()[0].environment, 0u);
  EXPECT_EQ(worlds.ended()[0].reward, 1 + 2);
  EXPECT_EQ(worlds.ended()[0].steps, 2);
  worlds.step(actions);
  EXPECT_THAT(worlds.observations(), testing::ElementsAre(1, 0));
  ASSERT_EQ(worlds.ended().size(), 1u);
  EXPECT_EQ(worlds.ended()[0].reward, 1 + 2 + 3);
}

TEST(VectorEnvironment, IsTheSameInThreadsAndFromAState) {
  const auto make = [] { return limited(cart_pole(), 30); };
  VectorEnvironment one(make, 5, 3), many(make, 5, 3, /*in_threads=*/true), later(make, 5, 99);
  Random random(4);
  std::vector<float> actions(5);
  for (int step = 0; step < 100; ++step) {
    for (float& action : actions) one.action_space().sample(random, {&action, 1});
    one.step(actions);
    many.step(actions);
    EXPECT_THAT(many.observations(), testing::ElementsAreArray(one.observations()));
    EXPECT_EQ(many.ended().size(), one.ended().size());
    if (step >= 50) {
      later.step(actions);
      EXPECT_THAT(later.observations(), testing::ElementsAreArray(one.observations()));
      ASSERT_EQ(later.ended().size(), one.ended().size());
      for (std::size_t i = 0; i < one.ended().size(); ++i) EXPECT_EQ(later.ended()[i].reward, one.ended()[i].reward);
    } else if (step == 49) {
      later.set_state(one.state());
      EXPECT_EQ(later.state(), one.state());
    }
  }
  std::vector<double> wrong = one.state();
  wrong.push_back(0);
  const std::vector<double> before = later.state();
  EXPECT_THAT(said([&] { later.set_state(wrong); }), testing::HasSubstr("1 numbers too many"));
  EXPECT_THAT(said([&] { later.set_state({}); }), testing::HasSubstr("are not a state of 5 environments"));
  EXPECT_EQ(later.state(), before);
}

TEST(VectorEnvironment, EnvironmentsDifferBySeed) {
  VectorEnvironment worlds([] { return cart_pole(); }, 3, 1), again([] { return cart_pole(); }, 3, 1);
  EXPECT_THAT(worlds.observations(), testing::ElementsAreArray(again.observations()));
  EXPECT_NE(worlds.observations()[0], worlds.observations()[4]);
  again.reset(2);
  EXPECT_NE(worlds.observations()[0], again.observations()[0]);
}

TEST(VectorEnvironment, SaysWhichEnvironmentThrew) {
  for (const bool in_threads : {false, true}) {
    std::int64_t made = 0;
    VectorEnvironment worlds([&] { return std::make_unique<Counter>(9, made++ == 2 ? 2 : -1); }, 4, 1, in_threads);
    const std::vector<float> actions(4);
    worlds.step(actions);
    EXPECT_EQ(said([&] { worlds.step(actions); }), "DataError: a sensor is gone (environment 2)");
    EXPECT_EQ(said([&] { worlds.step(actions); }),
              "ArgumentError: Counter: an earlier step or reset failed; reset() begins anew");
    worlds.reset(1);
    worlds.step(actions);
    EXPECT_THAT(worlds.observations(), testing::ElementsAre(1, 1, 1, 1));
  }
}

/// Throws what is no error of Kiln's.
class Foreign final : public Environment {
 public:
  Foreign() : Environment("Foreign", Space::box({1}, 0, 1), Space::discrete(2)) {}

 private:
  void begin(std::span<float> seen) override { seen[0] = 0; }
  Outcome advance(std::span<const float>, std::span<float>) override { throw std::runtime_error("a foreign library"); }
};

TEST(VectorEnvironment, PassesOnWhatIsThrownInAThread) {
  for (const bool in_threads : {false, true}) {
    VectorEnvironment worlds([] { return std::make_unique<Foreign>(); }, 4, 1, in_threads);
    EXPECT_THROW(worlds.step(std::vector<float>(4)), std::runtime_error);
    EXPECT_THAT(said([&] { worlds.step(std::vector<float>(4)); }), testing::HasSubstr("reset() begins anew"));
    EXPECT_THAT(said([&] { worlds.step(std::vector<float>(4, 7)); }), testing::HasSubstr("reset() begins anew"));
    worlds.reset(1);
    EXPECT_EQ(said([&] { worlds.step(std::vector<float>(4, 7)); }),
              "ArgumentError: Foreign: action 7 is not one of 0 to 1 (environment 0)");
  }
}

TEST(VectorEnvironment, SaysWhatIsWrong) {
  const auto make = [] { return counter(3); };
  EXPECT_THAT(said([&] { VectorEnvironment(make, 0, 1); }), testing::HasSubstr("count = 0 must be at least 1"));
  EXPECT_THAT(said([] { VectorEnvironment([] { return EnvironmentPtr(); }, 1, 1); }),
              testing::HasSubstr("environment 0 is none"));
  int made = 0;
  EXPECT_THAT(said([&] { VectorEnvironment([&] { return made++ == 0 ? cart_pole() : pendulum(); }, 2, 1); }),
              testing::HasSubstr("environment 1 has other spaces than the first one"));
  VectorEnvironment worlds(make, 2, 1);
  EXPECT_EQ(said([&] { worlds.step(std::vector<float>(3)); }),
            "ShapeError: Counter: a step of 2 environments takes 2 numbers, got 3");
  worlds.step(std::vector<float>(2));
  EXPECT_THAT(said([&] { (void)worlds.environment(2); }), testing::HasSubstr("no environment 2 of 2"));
  const VectorEnvironment taken = std::move(worlds);
  EXPECT_EQ(taken.action_space(), Space::discrete(2));
  EXPECT_EQ(said([&] { (void)worlds.action_space(); }),
            "ArgumentError: VectorEnvironment: there is no environment 0 of 0: they were moved to another object");
}

TEST(Wrappers, LimitTruncatesWhatDoesNotEnd) {
  const EnvironmentPtr world = limited(counter(5), 3), ending = limited(counter(3), 3);
  std::vector<float> seen(1);
  const float action = 0;
  for (int episode = 0; episode < 2; ++episode) {
    world->reset(seen);
    ending->reset(seen);
    for (int i = 1; i <= 3; ++i) {
      EXPECT_EQ(ending->step({&action, 1}, seen).terminated, i == 3);
      const Outcome outcome = world->step({&action, 1}, seen);
      EXPECT_EQ(outcome.truncated, i == 3);
      EXPECT_FALSE(outcome.terminated);
    }
  }
  EXPECT_THAT(said([] { (void)limited(counter(1), 0); }), testing::HasSubstr("steps = 0"));
  EXPECT_THAT(said([] { (void)limited(nullptr, 1); }), testing::HasSubstr("there is no environment"));
}

TEST(Wrappers, StackShowsTheLastFrames) {
  const EnvironmentPtr world = stacked(counter(9), 3), other = stacked(counter(9), 3);
  EXPECT_EQ(world->observations().shape(), (Shape{3}));
  std::vector<float> seen(3);
  const float action = 0;
  world->reset(seen);
  EXPECT_THAT(seen, testing::ElementsAre(0, 0, 0));
  world->step({&action, 1}, seen);
  world->step({&action, 1}, seen);
  EXPECT_THAT(seen, testing::ElementsAre(0, 1, 2));
  other->set_state(world->state());
  other->step({&action, 1}, seen);
  EXPECT_THAT(seen, testing::ElementsAre(1, 2, 3));
  const EnvironmentPtr pixels = stacked(catch_ball(), 4);
  EXPECT_EQ(pixels->observations().shape(), (Shape{4, 10, 10}));
  EXPECT_THAT(said([] { (void)stacked(frozen_lake(), 2); }), testing::HasSubstr("one_hot() makes a list of it"));
  EXPECT_THAT(said([] { (void)stacked(counter(1), 0); }), testing::HasSubstr("frames = 0"));
}

TEST(Wrappers, OneHotShowsAnIndexAsAList) {
  const EnvironmentPtr world = one_hot(frozen_lake({"SFG"}, /*slippery=*/false));
  EXPECT_EQ(world->observations().shape(), (Shape{3}));
  std::vector<float> seen(3);
  const float right = 2;
  world->reset(seen);
  EXPECT_THAT(seen, testing::ElementsAre(1, 0, 0));
  world->step({&right, 1}, seen);
  EXPECT_THAT(seen, testing::ElementsAre(0, 1, 0));
  EXPECT_THAT(said([] { (void)one_hot(cart_pole()); }), testing::HasSubstr("one_hot: takes an index"));
}

TEST(Wrappers, FilmIsWrittenWhenAnEpisodeEnds) {
  const std::filesystem::path place = std::filesystem::path(testing::TempDir()) / "kiln_rl_film";
  std::filesystem::remove_all(place);
  const EnvironmentPtr moving = filmed(counter(3), {.directory = place, .every = 2}),
                       still = filmed(counter(2), {.directory = place / "png", .gif = false}),
                       seldom = filmed(counter(5), {.directory = place / "two", .gif = false, .steps_per_picture = 2});
  std::vector<float> seen(1);
  const float action = 0;
  for (int episode = 0; episode < 3; ++episode) {
    moving->reset(seen);
    still->reset(seen);
    while (!moving->step({&action, 1}, seen).over()) {}
    while (!still->step({&action, 1}, seen).over()) {}
    seldom->reset(seen);
    while (!seldom->step({&action, 1}, seen).over()) {}
  }
  EXPECT_TRUE(std::filesystem::exists(place / "episode-0001.gif"));
  EXPECT_FALSE(std::filesystem::exists(place / "episode-0002.gif"));
  EXPECT_TRUE(std::filesystem::exists(place / "episode-0003.gif"));
  EXPECT_TRUE(std::filesystem::exists(place / "png" / "episode-0002" / "0003.png"));  // the start and two steps
  EXPECT_FALSE(std::filesystem::exists(place / "png" / "episode-0002" / "0004.png"));
  EXPECT_TRUE(std::filesystem::exists(place / "two" / "episode-0003" / "0003.png"));  // the start, steps 2 and 4
  EXPECT_FALSE(std::filesystem::exists(place / "two" / "episode-0003" / "0004.png"));
  EXPECT_THAT(said([] { (void)filmed(counter(1), {}); }), testing::HasSubstr("directory must be given"));
  EXPECT_THAT(said([&] { (void)filmed(counter(1), {.directory = place, .every = 0}); }),
              testing::HasSubstr("every = 0"));
  EXPECT_THAT(said([&] { (void)filmed(counter(1), {.directory = place, .steps_per_picture = 0}); }),
              testing::HasSubstr("steps_per_picture = 0"));
  EXPECT_THAT(said([&] { (void)filmed(counter(1), {.directory = place, .milliseconds = 15}); }),
              testing::HasSubstr("milliseconds = 15"));

  std::ofstream(place / "a file") << "in the way";
  const EnvironmentPtr hindered = filmed(counter(1), {.directory = place / "a file"});
  hindered->reset(seen);
  EXPECT_THAT(said([&] { hindered->step({&action, 1}, seen); }),
              testing::HasSubstr("IoError: cannot make the directory"));
  std::filesystem::remove_all(place);
}

}  // namespace
}  // namespace kiln::rl
