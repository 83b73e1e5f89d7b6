// Normalised observations and rewards beside Gymnasium's (gymnasium_figures.py), and beside sums over all that was
// seen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "kiln/rl/environments/environments.hpp"
#include "kiln/rl/vector_environment.hpp"
#include "kiln/rl/wrappers.hpp"
#include "kiln/store/record/object_record.hpp"
#include "tests/rl/figures.hpp"
#include "tests/rl/said.hpp"

namespace kiln::rl {
namespace {

constexpr float kEndless = std::numeric_limits<float>::infinity();
constexpr NormalizationConfig kAsGymnasium{.discount = 0.9, .limit = std::numeric_limits<double>::infinity()};

/// Plays row after row of numbers, whatever the action: two to observe, a reward, and whether the episode ends (1: it
/// terminates, 2: it is truncated). An episode begins where the last one ended.
class Tape final : public Environment {
 public:
  Tape(std::vector<double> rows, bool ends)
      : Environment("Tape", Space::box({2}, -kEndless, kEndless), Space::discrete(2)),
        rows_(std::move(rows)),
        ends_(ends) {}

 private:
  const double* next(std::span<float> observation) {
    const double* const row = &rows_.at(4 * static_cast<std::size_t>(++at_));
    observation[0] = static_cast<float>(row[0]), observation[1] = static_cast<float>(row[1]);
    return row;
  }
  void begin(std::span<float> observation) override { next(observation); }
  Outcome advance(std::span<const float>, std::span<float> observation) override {
    const double* const row = next(observation);
    return {.reward = row[2], .terminated = ends_ && row[3] == 1, .truncated = ends_ && row[3] == 2};
  }
  std::vector<double> numbers() const override { return {at_}; }
  bool take(std::span<const double> numbers) override {
    if (numbers.size() != 1) return false;
    at_ = numbers[0];
    return true;
  }

  std::vector<double> rows_;
  bool ends_;
  double at_ = -1;
};

/// The rows of the tape number `i` that Gymnasium played.
std::vector<double> tape(std::size_t i) {
  const std::vector<double> seen = stored("tape.observations").to_vector<double>(),
                            rewards = stored("tape.rewards").to_vector<double>();
  const std::vector<std::uint8_t> ends = stored("tape.ends").to_vector<std::uint8_t>();
  std::vector<double> rows;
  for (std::size_t row = i * 90; row < (i + 1) * 90; ++row)
    for (const double number : {seen[2 * row], seen[2 * row + 1], rewards[row], static_cast<double>(ends[row])})
      rows.push_back(number);
  return rows;
}
MakeEnvironment tapes(bool ends) {
  return [ends, made = std::size_t{0}]() mutable { return std::make_unique<Tape>(tape(made++), ends); };
}

TEST(Normalization, OfRewardsIsGymnasiums) {
  VectorEnvironment worlds(tapes(true), 3, 1);
  worlds.normalize(kAsGymnasium);
  const std::vector<double> rewards = stored("normalized.rewards").to_vector<double>();
  for (std::size_t step = 0; step < 40; ++step) {
    worlds.step(std::vector<float>(3));
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(worlds.outcomes()[i].reward, rewards[3 * step + i], 1e-6) << "step " << step << ", tape " << i;
  }
}

TEST(Normalization, OfObservationsIsGymnasiums) {
  VectorEnvironment worlds(tapes(false), 3, 1);
  worlds.normalize(kAsGymnasium);
  const std::vector<double> seen = stored("normalized.observations").to_vector<double>();
  for (std::size_t step = 0; step < 41; ++step) {
    if (step > 0) worlds.step(std::vector<float>(3));
    for (std::size_t i = 0; i < 6; ++i)
      EXPECT_NEAR(worlds.observations()[i], seen[6 * step + i], 2e-6 * (1 + std::abs(seen[6 * step + i])))
          << "step " << step;
  }
}

// What was seen so far, and 1e-4 of a row that has mean 0 and variance 1, has these moments by their definition.
TEST(Normalization, HasTheMomentsOfAllThatWasSeen) {
  const EnvironmentPtr world = normalized(std::make_unique<Tape>(tape(0), true), kAsGymnasium);
  const std::vector<double> rows = tape(0);
  std::vector<float> seen(2);
  std::array<double, 2> sums{}, squares{};
  double count = 1e-4, sum = 0, return_sum = 0, return_squares = 0, returns = 1e-4;
  const float action = 0;
  for (std::size_t row = 0; row < 60; ++row) {
    Outcome outcome;
    const bool begins = !world->running();
    if (begins) world->reset(seen);
    else outcome = world->step({&action, 1}, seen);
    count += 1;
    for (std::size_t k = 0; k < 2; ++k) {
      const double number = static_cast<float>(rows[4 * row + k]);
      sums[k] += number, squares[k] += number * number;
      const double mean = sums[k] / count, variance = (1e-4 + squares[k]) / count - mean * mean;
      EXPECT_NEAR(seen[k], (number - mean) / std::sqrt(variance + 1e-8), 1e-5 * (1 + std::abs(seen[k]))) << row;
    }
    if (begins) {
      sum = 0;
      continue;
    }
    sum = (outcome.terminated ? 0 : 0.9 * sum) + rows[4 * row + 2];
    returns += 1, return_sum += sum, return_squares += sum * sum;
    const double mean = return_sum / returns, variance = (1e-4 + return_squares) / returns - mean * mean;
    EXPECT_NEAR(outcome.reward, rows[4 * row + 2] / std::sqrt(variance + 1e-8), 1e-9) << row;
  }
}

TEST(Normalization, LimitsWhatLiesFarOff) {
  VectorEnvironment worlds([] { return pendulum(); }, 2, 1);
  worlds.normalize({.limit = 0.25});
  EXPECT_EQ(worlds.observation_space(), Space::box({3}, -0.25, 0.25));
  for (int step = 0; step < 20; ++step) {
    worlds.step(std::vector<float>(2, 2.0f));
    for (const float number : worlds.observations()) EXPECT_LE(std::abs(number), 0.25f);
    for (const Outcome& outcome : worlds.outcomes()) EXPECT_LE(std::abs(outcome.reward), 0.25);
  }
}

TEST(Normalization, LeavesTheRewardsOfEpisodesAsTheyAre) {
  VectorEnvironment worlds([] { return limited(cart_pole(), 5); }, 2, 1),
      plain([] { return limited(cart_pole(), 5); }, 2, 1);
  worlds.normalize({.observations = false});
  for (int step = 0; step < 5; ++step) worlds.step(std::vector<float>(2)), plain.step(std::vector<float>(2));
  ASSERT_EQ(worlds.ended().size(), 2u);
  EXPECT_EQ(worlds.ended()[0].reward, 5);
  EXPECT_NE(worlds.outcomes()[0].reward, 1);
  EXPECT_THAT(worlds.observations(), testing::ElementsAreArray(plain.observations()));
}

TEST(Normalization, GoesOnFromAState) {
  VectorEnvironment one(tapes(true), 3, 1), two(tapes(true), 3, 9);
  one.normalize({});
  two.normalize({});
  const EnvironmentPtr first = normalized(limited(pendulum(), 7)), second = normalized(limited(pendulum(), 7));
  std::vector<float> seen(3), again(3);
  const float torque = 1;
  first->reset(seen);
  for (int step = 0; step < 20; ++step) {
    if (step == 10) {
      two.set_state(one.state());
      second->set_state(first->state());
    }
    one.step(std::vector<float>(3));
    if (!first->running()) first->reset(seen);
    const Outcome outcome = first->step({&torque, 1}, seen);
    if (step < 10) continue;
    two.step(std::vector<float>(3));
    EXPECT_EQ(two.state(), one.state());
    if (!second->running()) second->reset(again);
    EXPECT_EQ(second->step({&torque, 1}, again).reward, outcome.reward);
    EXPECT_EQ(again, seen);
  }
  std::vector<double> wrong = one.state();
  wrong[wrong.size() - 4] = -1;  // the variance of returns
  const std::vector<double> before = two.state();
  EXPECT_THAT(said([&] { two.set_state(wrong); }),
              testing::HasSubstr("are not moments of its observations and rewards"));
  wrong.pop_back();
  EXPECT_THAT(said([&] { two.set_state(wrong); }), testing::HasSubstr("DataError"));
  EXPECT_EQ(two.state(), before);
}

TEST(Normalization, IsTakenOverForEvaluationAndStays) {
  VectorEnvironment trained(tapes(true), 3, 1), other(tapes(true), 1, 1);
  trained.normalize({});
  for (int step = 0; step < 30; ++step) trained.step(std::vector<float>(3));
  other.normalize_as(*trained.normalization());
  const RunningMoments moments = trained.normalization()->observations();
  other.reset(1);
  const std::vector<double> rows = tape(0);
  for (std::size_t k = 0; k < 2; ++k)  // the second row, as the first was shown when the environments were made
    EXPECT_NEAR(other.observations()[k], (rows[4 + k] - moments.mean[k]) / std::sqrt(moments.variance[k] + 1e-8), 1e-5);
  other.step(std::vector<float>(1));
  EXPECT_EQ(other.normalization()->observations(), moments);
  EXPECT_EQ(other.normalization()->returns(), trained.normalization()->returns());
}

TEST(Normalization, IsSavedBesideAPolicy) {
  const std::string path = testing::TempDir() + "kiln_moments.safetensors";
  VectorEnvironment worlds(tapes(true), 3, 1);
  worlds.normalize({});
  for (int step = 0; step < 5; ++step) worlds.step(std::vector<float>(3));
  save_record(*worlds.normalization(), path);
  Normalization loaded({}, worlds.environment(0).observations(), 1), other({}, pendulum()->observations(), 1);
  load_record(loaded, path);
  EXPECT_EQ(loaded.observations(), worlds.normalization()->observations());
  EXPECT_EQ(loaded.returns(), worlds.normalization()->returns());
  load_record(other, path);
  std::vector<float> three(3);
  EXPECT_THAT(
      said([&] { other.normalize(std::span(three)); }),
      testing::HasSubstr("DataError: Normalization: what was loaded belongs to observations of another size than 3"));
  std::filesystem::remove(path);
}

TEST(Normalization, SaysWhatIsWrong) {
  VectorEnvironment worlds([] { return pendulum(); }, 2, 1), lakes([] { return frozen_lake(); }, 2, 1);
  worlds.normalize({});
  EXPECT_EQ(said([&] { worlds.normalize({}); }), "ArgumentError: Pendulum: is normalised already");
  EXPECT_THAT(said([&] { lakes.normalize({}); }), testing::HasSubstr("one_hot() makes numbers of an index"));
  EXPECT_THAT(said([] { (void)normalized(frozen_lake()); }), testing::HasSubstr("one_hot() makes numbers of an index"));
  EXPECT_THAT(said([] { (void)normalized(nullptr); }), testing::HasSubstr("normalized: there is no environment"));
  VectorEnvironment tape_worlds(tapes(true), 1, 1);
  EXPECT_THAT(said([&] { tape_worlds.normalize_as(*worlds.normalization()); }),
              testing::HasSubstr("moments of 3 numbers for observations of 2"));
  const auto wrong = [](const NormalizationConfig& config) { return said([&] { config.check(); }); };
  EXPECT_THAT(wrong({.observations = false, .rewards = false}), testing::HasSubstr("neither observations nor rewards"));
  EXPECT_THAT(wrong({.discount = 1.5}), testing::HasSubstr("discount = 1.5"));
  EXPECT_THAT(wrong({.epsilon = 0}), testing::HasSubstr("epsilon = 0"));
  EXPECT_THAT(wrong({.limit = NAN}), testing::HasSubstr("limit = nan"));
}

}  // namespace
}  // namespace kiln::rl
