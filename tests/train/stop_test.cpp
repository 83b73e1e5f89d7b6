// When a training ends: at a limit, on a wish, where nothing gets better.
#include <gtest/gtest.h>

#include <csignal>

#include "kiln/train/early_stopping.hpp"
#include "tests/support/sentence.hpp"
#include "tests/train/line.hpp"

namespace kiln {
namespace {

TEST(Learner, StopsAtTheFirstLimit) {
  auto train = loader(16, {.batch_size = 4});
  EXPECT_EQ(line_learner({.epochs = 9, .steps = 6}).fit(train).reason, "all 6 steps are done");
  auto timed = line_learner({.seconds = 1e-9});
  EXPECT_EQ(timed.fit(train).at.step, 1);
  auto stopped = line_learner({.epochs = 9});
  struct StopAt {
    void on(const training::Step& step, Interrupter& control) {
      if (step.at.step == 5) control.stop("enough");
    }
  };
  const auto ending = stopped.add(StopAt{}).fit(train);
  EXPECT_EQ(ending.reason, "enough");
  EXPECT_EQ(ending.at.step, 5);
  EXPECT_EQ(ending.at.batch, 1);
  stopped.interrupter().reset();
  EXPECT_EQ(stopped.fit(train).reason, "all 9 epochs are done");  // going on where it was
  auto through = line_learner({.epochs = 9});
  through.fit(train);
  EXPECT_EQ(weights(stopped.model()), weights(through.model()));
}

TEST(Learner, EndsAfterTheStepOnAnInterrupt) {
  auto train = loader(16, {.batch_size = 4});
  auto interrupted = line_learner({.epochs = 9});
  struct Press {
    void on(const training::Step& step) {
      if (step.at.step == 3) std::raise(SIGINT);
    }
  };
  const auto ending = interrupted.add(Press{}).fit(train);
  EXPECT_EQ(ending.reason, "interrupted");
  EXPECT_EQ(ending.at.step, 3);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const SignalScope signals;
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST(Learner, StopsWithoutAReason) {
  auto train = loader(16, {.batch_size = 4});
  struct Stop {
    void on(const training::Step&, Interrupter& control) { control.stop(""); }
  };
  const auto ending = line_learner({.epochs = 2}).add(Stop{}).fit(train);
  EXPECT_EQ(ending.at.step, 1);
  EXPECT_EQ(ending.reason, "it was stopped");
}

TEST(Interrupter, SavesWhereOneStopDoes) {
  Interrupter control;
  control.stop("unsaved", false);
  EXPECT_FALSE(control.saves_end());
  control.stop("also unsaved", false);
  EXPECT_FALSE(control.saves_end());
  EXPECT_EQ(control.reason(), "unsaved");
  control.stop("saved");
  EXPECT_TRUE(control.saves_end());
  EXPECT_EQ(control.reason(), "saved");
  control.stop("unsaved", false);
  EXPECT_TRUE(control.saves_end());
  EXPECT_EQ(control.reason(), "saved");
  control.reset();
  const SignalScope signals;
  std::raise(SIGINT);
  control.stop("unsaved", false);
  EXPECT_TRUE(control.saves_end());
  EXPECT_EQ(control.reason(), "interrupted");
}

// As a program that nohup started.
TEST(Learner, OutlivesATerminalWhereThatIsIgnored) {
  auto train = loader(16, {.batch_size = 4});
  struct Close {
    void on(const training::Step&) { std::raise(SIGHUP); }
  };
  const auto before = std::signal(SIGHUP, SIG_IGN);
  auto outlives = line_learner({.epochs = 2});
  EXPECT_EQ(outlives.add(Close{}).fit(train).reason, "all 2 epochs are done");
  EXPECT_EQ(std::signal(SIGHUP, before), SIG_IGN);

  struct CloseOnce {
    void on(const training::Step& step) {
      if (step.at.step == 3) std::raise(SIGHUP);
    }
  };
  auto ends = line_learner({.epochs = 2});
  const auto ending = ends.add(CloseOnce{}).fit(train);
  EXPECT_EQ(ending.reason, "the terminal was closed");
  EXPECT_EQ(ending.at.step, 3);
}

TEST(EarlyStopping, EndsWhereNothingGetsBetter) {
  const auto stops_at = [](EarlyStopping rule, const std::vector<double>& values) {
    Interrupter control;
    for (std::size_t i = 0; i < values.size(); ++i) {
      rule.on({{}, "valid", {{"loss", values[i]}}}, control);
      if (control.should_stop()) return static_cast<int>(i);
    }
    return -1;
  };
  EXPECT_EQ(stops_at({.patience = 2}, {3, 2, 2.5, 1, 2, 2, 2}), 5);
  EXPECT_EQ(stops_at({.rising = true, .patience = 2}, {3, 4, 3, 5, 4, 5}), 5);
  EXPECT_EQ(stops_at({.patience = 2, .least_change = 0.5}, {3, 2.75, 2.625, 1}), 2);
  EXPECT_EQ(stops_at({.patience = 1, .warmup = 2}, {1, 2, 3, 2, 2}), 4);
  EXPECT_EQ(stops_at({.patience = 2}, {0.0 / 0.0, 3, 2, 0.0 / 0.0, 0.0 / 0.0}), 4);
  EXPECT_EQ(stops_at({.when = [](double loss) { return loss < 0.5; }}, {2, 1, 0.25}), 2);
  Interrupter control;
  EarlyStopping unknown{.metric = "accuracy"};
  EXPECT_EQ(sentence_of([&] {
              unknown.on({{}, "valid", {{"loss", 1}}}, control);
              return 0;
            }),
            "ArgumentError: early stopping: the evaluation 'valid' has no metric 'accuracy'; it has 'loss'");
}

}  // namespace
}  // namespace kiln
