// A Learner does what a loop by hand does, and tells of it.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <set>

#include "kiln/ops/scope/autocast.hpp"
#include "kiln/optim/rules/adam.hpp"
#include "kiln/optim/schedule/decay.hpp"
#include "kiln/train/evaluator.hpp"
#include "kiln/train/learner.hpp"
#include "tests/support/sentence.hpp"
#include "tests/train/heard.hpp"
#include "tests/train/line.hpp"

namespace kiln {
namespace {

const LoaderConfig kShuffled = {.batch_size = 8, .shuffle = true, .seed = 5};

TEST(Learner, DoesWhatALoopByHandDoes) {
  auto data = loader(45, kShuffled);
  Line model = line(0.25);
  Adam optimizer = AdamConfig{}.init(model);
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::uint64_t number = 0;
    for (const Points& batch : data) {
      Device::cpu().seed(Key{7}.split(static_cast<std::uint64_t>(epoch)).split(number++).bits);
      const auto [loss, grads] = value_and_grad(model, [&](const Line& m) { return fit_points(m, batch).loss; });
      model = optimizer.step(0.1, std::move(model), grads);
    }
  }
  auto trained = line_learner({.epochs = 3, .seed = 7}, 0.25);
  auto same = loader(45, kShuffled);
  const auto ending = trained.rate(0.1).fit(same);
  EXPECT_EQ(weights(trained.model()), weights(model));
  EXPECT_EQ(ending.reason, "all 3 epochs are done");
  EXPECT_EQ(ending.at.step, 18);
  EXPECT_EQ(ending.at.items, 135);
}

TEST(Learner, GoesThroughEpochsOfUnequalNumbersOfBatches) {
  // In some epochs two items to a batch, in others one.
  const BatchRule rule = [](std::vector<std::int64_t> order, Key key) {
    const auto each = static_cast<std::int64_t>(1 + key.bits % 2);
    BatchList list{std::move(order), {}};
    for (std::int64_t end = each; end <= 10; end += each) list.ends.push_back(end);
    return list;
  };
  auto data = loader(10, {.seed = 4, .batches = rule});
  std::int64_t batches = 0;
  std::set<std::int64_t> sizes;
  for (std::int64_t i = 0; i < 6; ++i) {
    data.set_epoch(i);
    batches += data.size();
    sizes.insert(data.size());
  }
  ASSERT_EQ(sizes, (std::set<std::int64_t>{5, 10}));
  EXPECT_EQ(line_learner({.epochs = 6}).fit(data).at.step, batches);
}

TEST(Learner, AccumulatesBatchesOfAnySizeToTheGradientOfAll) {
  auto one = loader(45, {.batch_size = 45}), several = loader(45, {.batch_size = 16});  // 16, 16, 13
  auto whole = line_learner({.epochs = 4}), parts = line_learner({.epochs = 4, .accumulate = 3});
  Heard heard;
  whole.rate(0.1).fit(one);
  parts.rate(0.1).add(heard).fit(several);
  const auto expected = weights(whole.model()), found = weights(parts.model());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6);
  ASSERT_EQ(heard.of<training::Step>().size(), 4u);
  EXPECT_EQ(heard.of<training::Step>()[0].items, 45);

  auto rest = line_learner({.epochs = 2, .accumulate = 2});  // the last step of an epoch has one batch
  EXPECT_EQ(rest.fit(several).at.step, 4);
}

TEST(Learner, TellsOfStepsAndEvaluations) {
  auto train = loader(20, {.batch_size = 8}), valid = loader(11, {.batch_size = 4});
  auto trained = line_learner({.epochs = 2, .log_every = 2});
  Heard heard;
  trained.metric(metric::MeanAbsoluteError{}).add(heard);
  trained.schedule(ExponentialConfig{.initial = 0.1, .factor = 0.5}).fit(train, valid);

  const auto steps = heard.of<training::Step>();
  ASSERT_EQ(steps.size(), 6u);
  EXPECT_EQ(steps[3].rates, std::vector<double>{0.0125});
  EXPECT_EQ(steps[5].items, 4);
  EXPECT_EQ(steps[5].at.items, 40);

  std::string order;
  for (const auto& e : heard.of<training::Evaluation>())
    order += text(e.split, e.complete ? " " : "... ", e.at.step, "; ");
  EXPECT_EQ(order, "train... 2; train 3; valid 3; train... 4; train 6; valid 6; ");
  const auto last = heard.of<training::Evaluation>()[2];

  // Of the model after three steps, over 11 items in three batches.
  auto stopped = line_learner({.steps = 3});
  stopped.schedule(ExponentialConfig{.initial = 0.1, .factor = 0.5}).fit(train);
  double squares = 0, off = 0;
  const auto w = weights(stopped.model());
  for (std::int64_t i = 0; i < 11; ++i) {
    const auto [x, y] = points(11)->get(i);
    const double miss = double{w[0]} * x + w[1] - y;
    squares += miss * miss / 11;
    off += std::abs(miss) / 11;
  }
  EXPECT_NEAR(last.find("loss")->value, squares, 1e-6);
  EXPECT_NEAR(last.find("mean_absolute_error")->value, off, 1e-6);
  EXPECT_EQ(heard.of<training::RunEnd>()[0].reason, "all 2 epochs are done");
}

TEST(Learner, ValidatesWhereNothingCanBeRecorded) {
  auto train = loader(16, {.batch_size = 8}), valid = loader(16, {.batch_size = 8});
  auto trained = line_learner({.steps = 2, .validate_every = 1}, 0.5);
  int calls = 0;
  trained.valid_step([&](const Line& m, const Points& batch) {
    ++calls;
    EXPECT_EQ(m.dropout.mode, nn::Mode::Valid);
    const RegressionOutput output = fit_points(m, batch);
    EXPECT_FALSE(output.loss.tracked());
    EXPECT_NE(sentence_of([&] { return value_and_grad(m, [&](const Line& n) { return fit_points(n, batch).loss; }); }),
              "");
    return output;
  });
  trained.fit(train, valid);
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(trained.model().dropout.mode, nn::Mode::Train);
  EXPECT_TRUE(trained.model().linear.weight.tracked());
}

TEST(Learner, KeepsAnAverageAndMeasuresIt) {
  auto train = loader(16, {.batch_size = 8}), valid = loader(16, {.batch_size = 16});
  auto trained = line_learner({.steps = 2});
  Heard heard;
  trained.rate(0.1).average(EmaConfig{.decay = 0.75}).add(heard).fit(train, valid);
  auto first = line_learner({.steps = 1});
  first.rate(0.1).fit(train);
  const auto w0 = weights(line()), w1 = weights(first.model()), w2 = weights(trained.model());
  const Line average = trained.result();
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_NEAR(weights(average)[i], 0.5625 * w0[i] + 0.1875 * w1[i] + 0.25 * w2[i], 1e-6);
  const auto measured = heard.of<training::Evaluation>().back();
  ASSERT_EQ(measured.split, "valid");
  for (const Points& batch : valid)
    EXPECT_NEAR(measured.find("loss")->value, fit_points(average, batch).loss.item(), 1e-6);
}

TEST(Learner, ScalesLossesInHalfPrecision) {
  auto train = loader(32, {.batch_size = 8}), same = loader(32, {.batch_size = 8});
  Line model = line();
  Adam optimizer = AdamConfig{}.init(model);
  GradientScaler scaler = GradientScalerConfig{.exponent = 126}.init();  // too much at first
  for (const Points& batch : train) {
    auto [loss, grads] = value_and_grad(model, [&](const Line& m) {
      const Autocast half(DType::F16);
      return scaler.scale(fit_points(m, batch).loss);
    });
    model = optimizer.step(0.1, std::move(model), scaler.unscale(std::move(grads)));
  }
  auto trained = line_learner({.epochs = 1, .autocast = DType::F16, .scaler = GradientScalerConfig{.exponent = 126}});
  trained.rate(0.1).fit(same);
  EXPECT_EQ(weights(trained.model()), weights(model));
  auto full = line_learner({.epochs = 1});
  full.rate(0.1).fit(same);
  EXPECT_NE(weights(full.model()), weights(model));
}

TEST(Learner, LetsRatesFallOnAPlateau) {
  auto train = loader(8, {.batch_size = 8}), valid = loader(8, {.batch_size = 8});
  auto trained = line_learner({.epochs = 5});
  Heard heard;
  trained.plateau({.initial = 0.5, .factor = 0.5, .patience = 0, .threshold = 1e9, .absolute = true}).add(heard);
  trained.fit(train, valid);
  std::vector<double> rates;
  for (const auto& step : heard.of<training::Step>()) rates.push_back(step.rates[0]);
  EXPECT_EQ(rates, (std::vector<double>{0.5, 0.5, 0.25, 0.125, 0.0625}));
}

struct Pair {
  Line first, second;
};
struct Optimizers {
  Adam first, second;
};

TEST(Learner, TakesStepsByHandWithSeveralOptimizers) {
  Pair pair{line(), line()};
  const auto half = [](Line& part, Adam& optimizer, double rate, const Points& batch) {
    auto [loss, grads] = value_and_grad(part, [&](const Line& m) { return fit_points(m, batch).loss; });
    part = optimizer.step(rate, std::move(part), grads);
    return loss;
  };
  Learner learner(pair, Optimizers{AdamConfig{}.init(pair.first), AdamConfig{}.init(pair.second)},
                  [half](Pair& m, Optimizers& o, const StepContext& context, const Points& batch) {
                    half(m.first, o.first, context.rate(), batch);
                    return half(m.second, o.second, 2 * context.rate(), batch);
                  },
                  {.steps = 3});
  auto train = loader(24, {.batch_size = 8});
  learner.rate(0.1).fit(train);
  auto slow = line_learner({.steps = 3}), fast = line_learner({.steps = 3});
  slow.rate(0.1).fit(train);
  fast.rate(0.2).fit(train);
  EXPECT_EQ(weights(learner.model().first), weights(slow.model()));
  EXPECT_EQ(weights(learner.model().second), weights(fast.model()));
  EXPECT_EQ(sentence_of([&] { return learner.fit(train, train).at.step; }), "");  // at its limit already
}

// The first batch counts too: an epoch may have no other.
TEST(Learner, MeasuresTheSpeedOfASingleBatch) {
  auto learner = line_learner({.epochs = 2});
  Heard heard;
  learner.metric(metric::ItemsPerSecond{}).train_metric(metric::BatchesPerSecond{}).add(heard);
  auto data = loader(8, {.batch_size = 8});
  const auto started = std::chrono::steady_clock::now();
  learner.fit(data, data);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  const auto evaluations = heard.of<training::Evaluation>();
  ASSERT_EQ(evaluations.size(), 4u);
  for (const auto& e : evaluations) {
    EXPECT_GT(e.find("items_per_second")->value, 8 / seconds) << e.split;
    if (e.split != "train") continue;
    EXPECT_GT(e.find("batches_per_second")->value, 1 / seconds);
  }
}

TEST(Evaluator, MeasuresNamedSets) {
  Evaluator evaluator(line(0.5), fit_points);
  Heard heard;
  evaluator.metric(metric::R2{}).add(heard);
  auto easy = loader(11, {.batch_size = 4}), none = loader(0, {});
  const auto found = evaluator.measure("easy", easy);
  EXPECT_EQ(found.split, "easy");
  EXPECT_EQ(found.readings.size(), 2u);
  EXPECT_EQ(heard.of<training::Evaluation>().size(), 1u);
  const auto nothing = evaluator.measure("none", none);
  EXPECT_EQ(nothing.find("r2")->problem, "r2: nothing was measured");
  EXPECT_TRUE(std::isnan(nothing.find("loss")->value));
}

}  // namespace
}  // namespace kiln
