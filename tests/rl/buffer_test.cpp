// Buffers beside loops in double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "kiln/rl/environments/environments.hpp"
#include "kiln/rl/replay.hpp"
#include "kiln/rl/rollout.hpp"
#include "kiln/rl/wrappers.hpp"
#include "kiln/store/record/object_record.hpp"
#include "tests/rl/said.hpp"

namespace kiln::rl {
namespace {

/// A step of every environment, as a test remembers it.
struct Lived {
  std::vector<float> observations, actions, finals;
  std::vector<Outcome> outcomes;
};

/// Plays at random, and hands each step to `heard` before the environments go on.
template <class F>
std::vector<Lived> play(VectorEnvironment& worlds, int steps, Random& random, F heard) {
  std::vector<Lived> lived;
  for (int step = 0; step < steps; ++step) {
    Lived now;
    now.observations.assign(worlds.observations().begin(), worlds.observations().end());
    const auto size = static_cast<std::size_t>(worlds.action_space().size());
    now.actions.resize(worlds.count() * size);
    for (std::size_t i = 0; i < worlds.count(); ++i)
      worlds.action_space().sample(random, std::span(now.actions).subspan(i * size, size));
    worlds.step(now.actions);
    now.finals.assign(worlds.final_observations().begin(), worlds.final_observations().end());
    now.outcomes.assign(worlds.outcomes().begin(), worlds.outcomes().end());
    heard(now);
    lived.push_back(std::move(now));
  }
  return lived;
}

TEST(Replay, HasTheDiscountedSumsOfItsSteps) {
  for (const std::int64_t steps : {1, 3, 7}) {
    SCOPED_TRACE(steps);
    // Episodes that end (a pole that falls within some 20 steps) and such that are cut off.
    VectorEnvironment worlds([] { return limited(cart_pole(), 13); }, 3, 5);
    Replay replay({.capacity = 4096, .steps = steps, .discount = 0.9}, worlds);
    Random random(2);
    const std::vector<Lived> lived =
        play(worlds, 60, random, [&](const Lived& now) { replay.add(now.observations, now.actions, worlds); });

    // Every transition by the definition, under its first observation's bytes.
    struct Row {
      double reward, discount;
      std::vector<float> next;
      float action;
    };
    std::map<std::vector<float>, Row> expected;
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t t = 0; t < lived.size(); ++t) {
        const auto part = [i](const std::vector<float>& all) {
          return std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(4 * i),
                                    all.begin() + static_cast<std::ptrdiff_t>(4 * i + 4));
        };
        Row row{0, 1, {}, lived[t].actions[i]};
        std::size_t last = t;
        bool whole = false;
        for (std::int64_t k = 0; k < steps && last < lived.size(); ++k, ++last) {
          row.reward += std::pow(0.9, k) * lived[last].outcomes[i].reward;
          row.discount = std::pow(0.9, k + 1);
          row.next = part(lived[last].finals);
          if (lived[last].outcomes[i].terminated) row.discount = 0;
          whole = k == steps - 1 || lived[last].outcomes[i].over();
          if (whole) break;
        }
        if (whole) expected[part(lived[t].observations)] = row;
      }
    EXPECT_EQ(replay.size(), static_cast<std::int64_t>(expected.size()));

    const Transitions sample = replay.sample(3000, random);
    std::map<std::vector<float>, int> seen;
    for (std::size_t i = 0; i < 3000; ++i) {
      const auto row = [i](const TensorData& data) {
        const std::span<const float> all = data.as<float>();
        return std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(4 * i),
                                  all.begin() + static_cast<std::ptrdiff_t>(4 * i + 4));
      };
      const auto found = expected.find(row(sample.observations));
      ASSERT_NE(found, expected.end());
      ++seen[found->first];
      EXPECT_NEAR(sample.rewards.as<float>()[i], found->second.reward, 1e-5);
      EXPECT_NEAR(sample.discounts.as<float>()[i], found->second.discount, 1e-6);
      EXPECT_EQ(row(sample.next_observations), found->second.next);
      EXPECT_EQ(sample.actions.as<float>()[i], found->second.action);
      EXPECT_EQ(sample.weights.as<float>()[i], 1);
    }
    EXPECT_EQ(seen.size(), expected.size()) << "3000 samples of some 180 miss none but with probability 1e-5";
  }
}

TEST(Replay, ForgetsTheOldest) {
  VectorEnvironment worlds([] { return pendulum(); }, 1, 1);
  Replay replay({.capacity = 5}, worlds);
  Random random(1);
  const std::vector<Lived> lived =
      play(worlds, 12, random, [&](const Lived& now) { replay.add(now.observations, now.actions, worlds); });
  EXPECT_EQ(replay.size(), 5);
  const Transitions sample = replay.sample(400, random);
  std::map<float, int> seen;
  for (const float action : sample.actions.as<float>()) ++seen[action];
  EXPECT_EQ(seen.size(), 5u);
  for (std::size_t t = 7; t < 12; ++t) EXPECT_GT(seen[lived[t].actions[0]], 40) << "step " << t;
}

TEST(Replay, SamplesByPriority) {
  VectorEnvironment worlds([] { return pendulum(); }, 1, 1);
  const double alpha = 0.6, beta = 0.4;
  Replay replay({.capacity = 11, .priority = alpha, .correction = beta}, worlds);
  Random random(3);
  play(worlds, 9, random, [&](const Lived& now) { replay.add(now.observations, now.actions, worlds); });
  const std::vector<std::int64_t> indices = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<float> errors = {0.1f, -2, 0, 5, 1, 1, 1, -0.5f, 3};
  replay.set_errors(indices, errors);
  double sum = 0;
  std::vector<double> probabilities;
  for (const float error : errors) sum += probabilities.emplace_back(std::pow(std::abs(double(error)) + 1e-6, alpha));
  for (double& probability : probabilities) probability /= sum;

  constexpr int kSamples = 40000;
  const Transitions sample = replay.sample(kSamples, random);
  std::vector<double> share(9);
  double rarest = 0;  // its weight, by which all are divided
  for (const std::int64_t place : sample.indices) {
    ASSERT_LT(place, 9);
    share[static_cast<std::size_t>(place)] += 1.0 / kSamples;
    rarest = std::max(rarest, std::pow(9 * probabilities[static_cast<std::size_t>(place)], -beta));
  }
  for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(share[i], probabilities[i], 0.002) << "place " << i;
  for (std::size_t i = 0; i < kSamples; i += 97)
    EXPECT_NEAR(sample.weights.as<float>()[i],
                std::pow(9 * probabilities[static_cast<std::size_t>(sample.indices[i])], -beta) / rarest, 1e-5);

  // What is new is drawn as the worst so far, 5, until its error is known.
  play(worlds, 1, random, [&](const Lived& now) { replay.add(now.observations, now.actions, worlds); });
  const double newest = std::pow(5 + 1e-6, alpha), all = sum + newest;
  double found = 0;
  for (const std::int64_t place : replay.sample(kSamples, random).indices) found += place == 9 ? 1.0 / kSamples : 0;
  EXPECT_NEAR(found, newest / all, 0.003);
}

TEST(Replay, GoesOnFromARecord) {
  const std::string path = testing::TempDir() + "kiln_replay.kiln";
  const auto make = [] { return limited(cart_pole(), 9); };
  const ReplayConfig config{.capacity = 50, .steps = 3, .priority = 0.5};
  VectorEnvironment worlds(make, 2, 1);
  Replay replay(config, worlds), loaded(config, worlds), other({.capacity = 49, .steps = 3, .priority = 0.5}, worlds);
  Random random(5), again(5);
  const auto add = [&](const Lived& now) { replay.add(now.observations, now.actions, worlds); };
  play(worlds, 40, random, add);
  replay.set_errors(std::vector<std::int64_t>{3, 7}, std::vector<float>{9, 0.1f});
  save_record(replay, path);
  load_record(loaded, path);
  play(worlds, 20, again = random, [&](const Lived& now) {
    add(now);
    loaded.add(now.observations, now.actions, worlds);
  });
  random = again = Random(8);
  const Transitions one = replay.sample(64, random), two = loaded.sample(64, again);
  EXPECT_EQ(one.indices, two.indices);
  EXPECT_EQ(one.rewards.to_vector<float>(), two.rewards.to_vector<float>());
  EXPECT_EQ(one.observations.to_vector<float>(), two.observations.to_vector<float>());
  EXPECT_EQ(one.weights.to_vector<float>(), two.weights.to_vector<float>());

  load_record(other, path);
  EXPECT_EQ(said([&] { (void)other.sample(1, random); }),
            "DataError: Replay: what was loaded is of another buffer than one of 49 transitions of CartPole");
  std::filesystem::remove(path);
}

TEST(Replay, SaysWhatIsWrong) {
  VectorEnvironment worlds([] { return cart_pole(); }, 2, 1), others([] { return pendulum(); }, 2, 1);
  Replay replay({.capacity = 8, .priority = 1}, worlds);
  Random random(0);
  EXPECT_EQ(said([&] { (void)replay.sample(1, random); }),
            "ArgumentError: Replay: the buffer is empty: add() something before sample()");
  EXPECT_THAT(said([&] { (void)replay.sample(0, random); }), testing::HasSubstr("a sample of 0"));
  EXPECT_THAT(said([&] { replay.add(others.observations(), std::vector<float>(2), others); }),
              testing::HasSubstr("Replay: takes 2 environments with observations of 4"));
  play(worlds, 1, random, [&](const Lived& now) { replay.add(now.observations, now.actions, worlds); });
  EXPECT_THAT(said([&] { replay.set_errors(std::vector<std::int64_t>{2}, std::vector<float>{1}); }),
              testing::HasSubstr("index 2 of a buffer of 2"));
  EXPECT_THAT(said([&] { replay.set_errors(std::vector<std::int64_t>{0}, std::vector<float>{NAN}); }),
              testing::HasSubstr("the error of transition 0 is nan"));
  EXPECT_THAT(said([&] { Replay({.capacity = std::int64_t{1} << 40}, worlds); }),
              testing::AllOf(testing::HasSubstr("MemoryError"), testing::HasSubstr("choose a smaller capacity")));
  // Each list by itself would fit.
  const auto half = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE) / 32;
  EXPECT_THAT(said([&] { Replay({.capacity = half}, worlds); }), testing::HasSubstr("choose a smaller capacity"));
  EXPECT_THAT(said([&] { Replay({.capacity = 0}, worlds); }), testing::HasSubstr("capacity = 0"));
  EXPECT_THAT(said([&] { Replay({.steps = 0}, worlds); }), testing::HasSubstr("steps = 0"));
  EXPECT_THAT(said([&] { Replay({.discount = NAN}, worlds); }), testing::HasSubstr("discount = nan"));
  EXPECT_THAT(said([&] { Replay({.priority = -1}, worlds); }), testing::HasSubstr("priority = -1"));
  EXPECT_THAT(said([&] { Replay({.correction = 2}, worlds); }), testing::HasSubstr("correction = 2"));
}

TEST(Rollout, ReadsNoValueAfterATermination) {
  // One environment; the second step terminates, the third is truncated.
  const std::vector<double> rewards = {1, 2, 3, 4}, values = {0.5, 1, 2, 3}, next = {1, NAN, 10, 5};
  const std::vector<Outcome> outcomes = {{}, {.terminated = true}, {.truncated = true}, {}};
  const std::vector<double> found = generalized_advantages({rewards, values, next, outcomes}, 1, 0.9, 0.5);
  EXPECT_THAT(found, testing::ElementsAre(testing::DoubleNear(1 + 0.9 * 1 - 0.5 + 0.45 * (2 - 1), 1e-12), 2 - 1,
                                          testing::DoubleNear(3 + 0.9 * 10 - 2, 1e-12),
                                          testing::DoubleNear(4 + 0.9 * 5 - 3, 1e-12)));
}

TEST(Rollout, HasGeneralizedAdvantages) {
  constexpr std::size_t kSteps = 40, kWorlds = 3;
  VectorEnvironment worlds([] { return limited(cart_pole(), 20); }, kWorlds, 5);
  Rollout rollout({.steps = kSteps, .discount = 0.97, .lambda = 0.9}, worlds);
  Random random(2);
  // The value of a state is some function of what is seen.
  const auto value = [](const float* seen) {
    return static_cast<float>(std::sin(40.0 * static_cast<double>(seen[0])) + 3.0 * static_cast<double>(seen[2]));
  };
  const std::vector<Lived> lived = play(worlds, kSteps, random, [&](const Lived& now) {
    EXPECT_FALSE(rollout.full());
    rollout.add(now.observations, now.actions, worlds);
  });
  ASSERT_TRUE(rollout.full());
  EXPECT_THAT(said([&] { rollout.add(worlds.observations(), std::vector<float>(kWorlds), worlds); }),
              testing::HasSubstr("Rollout: has its 40 steps: take() them first"));
  const auto value_of = [&](const TensorData& observations) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < observations.shape()[0]; ++i)
      values.push_back(value(&observations.as<float>()[static_cast<std::size_t>(4 * i)]));
    return values;
  };
  const Experience experience = rollout.take(value_of);
  EXPECT_FALSE(rollout.full());
  int terminated = 0, truncated = 0;
  for (std::size_t i = 0; i < kWorlds; ++i)
    for (std::size_t t = 0; t < kSteps; ++t) {
      // The sum as the paper has it: (discount lambda)^k times the surprise k steps ahead, to the episode's end.
      double expected = 0;
      for (std::size_t k = t; k < kSteps; ++k) {
        const Outcome& outcome = lived[k].outcomes[i];
        const double after = outcome.terminated ? 0 : 0.97 * static_cast<double>(value(&lived[k].finals[4 * i]));
        expected += std::pow(0.97 * 0.9, static_cast<double>(k - t)) *
                    (outcome.reward + after - static_cast<double>(value(&lived[k].observations[4 * i])));
        if (outcome.over()) break;
      }
      terminated += lived[t].outcomes[i].terminated;
      truncated += lived[t].outcomes[i].truncated;
      const std::size_t row = t * kWorlds + i;
      EXPECT_NEAR(experience.advantages.as<float>()[row], expected, 1e-5);
      EXPECT_NEAR(experience.returns.as<float>()[row],
                  expected + static_cast<double>(value(&lived[t].observations[4 * i])), 1e-5);
      EXPECT_EQ(experience.actions.as<float>()[row], lived[t].actions[i]);
      EXPECT_EQ(experience.observations.as<float>()[4 * row + 3], lived[t].observations[4 * i + 3]);
    }
  EXPECT_GT(terminated, 0);
  EXPECT_GT(truncated, 0);
  EXPECT_THAT(said([&] { (void)rollout.take(value_of); }), testing::HasSubstr("Rollout: is empty"));
  EXPECT_THAT(said([&] { Rollout({.steps = 0}, worlds); }), testing::HasSubstr("steps = 0"));
  EXPECT_THAT(said([&] { Rollout({.lambda = 1.5}, worlds); }), testing::HasSubstr("lambda = 1.5"));
  EXPECT_THAT(said([&] { Rollout({.discount = -1}, worlds); }), testing::HasSubstr("discount = -1"));
  EXPECT_THAT(said([] { (void)generalized_advantages({}, 0, 1, 1); }), testing::HasSubstr("0 environments"));
}

}  // namespace
}  // namespace kiln::rl
