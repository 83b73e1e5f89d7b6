// Trainings with the memory running out at each of their allocations.
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "kiln/train/learner.hpp"
#include "tests/shortage/shortage.hpp"
#include "tests/train/fresh_directory.hpp"
#include "tests/train/line.hpp"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// The weights after a training of four steps with a checkpoint at each, which continues from the newest one in `directory`.
/// Memory runs out at allocation `at` of fit().
std::vector<float> trained(const fs::path& directory, std::int64_t at = kNever, Fails fails = Fails::Once) {
  auto train = loader(8, {.batch_size = 4});
  auto learner = line_learner({.epochs = 2});
  learner.checkpoints(directory, {.every_steps = 1});
  {
    const Shortage shortage(at, fails);
    (void)learner.fit(train);
  }
  return weights(learner.model());
}

// What was saved is whole, and a training that continues from there comes to the same bits.
TEST(TrainingShortage, ContinuesFromItsCheckpoints) {
  const fs::path directory = fresh_directory("shortage_training");
  const std::vector<float> whole = trained(directory);
  std::int64_t told = 0, saved = 0;
  for (const Fails fails : {Fails::Once, Fails::FromThenOn}) {
    for (std::int64_t at = 1;; at += 1 + at / (fails == Fails::Once ? 25 : 8)) {
      fs::remove_all(directory);
      std::string said;
      try {
        EXPECT_EQ(trained(directory, at, fails), whole) << "in spite of allocation " << at;
      } catch (const MemoryError& error) { said = error.what(); }
      const bool failed = has_failed();
      told += !said.empty();
      saved += !said.empty() && fs::exists(directory / "index.json");
      try {
        EXPECT_EQ(trained(directory), whole) << "after allocation " << at << ": " << said;
      } catch (const Error& error) {
        ADD_FAILURE() << "after allocation " << at << ", " << said << ": " << error.what();
      }
      if (!failed || HasFailure()) break;
    }
  }
  EXPECT_GT(told, 50);
  EXPECT_GT(saved, 20);
}

// A step that finds no memory before it writes leaves the model and the optimizer as they were, although both were moved in.
TEST(TrainingShortage, LeavesTheModelOfAStepThatFails) {
  const Points batch{{-1, 0, 1, 2}, {-3, -1, 1, 3}};
  Line model = line();
  Adam adam = AdamConfig{}.init(model);
  const auto gradients = [&] {
    GradientsParams grads = value_and_grad(model, [&](const Line& m) { return fit_points(m, batch).loss; }).grads;
    Device::cpu().sync();
    return grads;
  };
  model = adam.step(0.1, std::move(model), gradients());
  const GradientsParams grads = gradients();
  const std::vector<float> before = weights(model);
  Adam reference = adam;
  const std::vector<float> after = weights(reference.step(0.1, model, grads));
  ASSERT_NE(before, after);
  int told = 0;
  for (std::int64_t at = 1;; ++at) {
    Line moved = model;
    Adam copy = adam;
    std::string said;
    try {
      const Shortage shortage(at, Fails::Once);
      moved = copy.step(0.1, std::move(moved), grads);
    } catch (const MemoryError& error) { said = error.what(); }
    const bool failed = has_failed();
    if (!said.empty() && said.find("was writing a step over the last") == std::string::npos) {
      ++told;
      EXPECT_EQ(weights(moved), before) << at << ": " << said;
      EXPECT_EQ(weights(copy.step(0.1, std::move(moved), grads)), after) << at << ": " << said;
    } else if (said.empty()) {
      EXPECT_EQ(weights(moved), after) << at;
    }
    if (!failed || HasFailure()) break;
  }
  EXPECT_GT(told, 20);
}

}  // namespace
}  // namespace kiln::test
