// Data and configurations that nobody can learn from: each ends in a sentence.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "kiln/nn/loss/of_classes.hpp"
#include "kiln/nn/module/freeze.hpp"
#include "kiln/train/early_stopping.hpp"
#include "kiln/train/evaluator.hpp"
#include "kiln/train/metric/accuracy.hpp"
#include "tests/support/sentence.hpp"
#include "tests/train/fresh_directory.hpp"
#include "tests/train/heard.hpp"
#include "tests/train/line.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;

TEST(BadInput, ALossThatIsNoNumber) {
  std::vector<Points> batches = {{{1}, {1}}, {{0.0f / 0.0f}, {1}}, {{0}, {2}}};
  const auto sentence = sentence_of([&] { return line_learner({.epochs = 1}).fit(batches).at.step; });
  EXPECT_EQ(sentence,
            "DataError: training: the loss of step 2 is nan (epoch 1, batch 2); all weights are finite: try a lower "
            "rate, and look for NaN in the batch, for a logarithm of 0 or a division by 0 in the step");
  Line broken = line();
  broken.linear.bias = nn::Param<1>(Tensor<1>::of({0.0f / 0.0f}, Device::cpu().autodiff()));
  LineLearner lost(broken, AdamConfig{}.init(broken), fit_points, {.epochs = 1});
  EXPECT_EQ(sentence_of([&] { return lost.fit(loader(4, {.batch_size = 4})).at.step; }),
            "DataError: training: the loss of step 1 is nan (epoch 1, batch 1); the weights 'linear.bias' are not "
            "finite: an earlier step was too large, so try a lower rate, or clip gradients");
  // A step by hand has changed the weights when its loss is seen.
  Learner by_hand(line(), AdamConfig{}.init(line()),
                  [](Line& m, Adam& optimizer, const StepContext& context, const Points& batch) {
                    auto [loss, grads] =
                        value_and_grad(m, [&](const Line& each) { return fit_points(each, batch).loss; });
                    m = optimizer.step(context.rate(), std::move(m), grads);
                    return loss;
                  },
                  {.epochs = 1});
  EXPECT_EQ(
      sentence_of([&] { return by_hand.fit(batches).at.step; }),
      "DataError: training: the loss of step 2 is nan (epoch 1, batch 2); the weights 'linear.weight' are not "
      "finite: this step, which has changed them, or an earlier one was too large or met NaN in its batch, so look "
      "for NaN, try a lower rate, or clip gradients");

  std::vector<Points> without = {batches[0], batches[2]};
  auto skips = line_learner({.epochs = 1, .not_finite = NotFinite::Skip}), clean = line_learner({.epochs = 1});
  Heard heard;
  EXPECT_EQ(skips.add(heard).fit(batches).at.items, 2);
  clean.fit(without);
  EXPECT_EQ(weights(skips.model()), weights(clean.model()));
  EXPECT_EQ(heard.of<training::Message>().back().text, "step 2 is left out: its loss is nan");
  EXPECT_TRUE(std::isfinite(heard.of<training::Evaluation>()[0].readings[0].value));

  auto goes_on = line_learner({.epochs = 1, .not_finite = NotFinite::Ignore});
  goes_on.fit(batches);
  EXPECT_TRUE(std::isnan(weights(goes_on.model())[0]));
}

// The losses before are finite: each step's is of the weights that it began with.
TEST(BadInput, ALossOfValidationThatIsNoNumber) {
  auto train = loader(8, {.batch_size = 4}), valid = loader(4, {.batch_size = 4});
  std::vector<Points> holes = {{{1}, {1}}, {{0.0f / 0.0f}, {1}}};
  Heard heard;
  const fs::path directory = fresh_directory("not_finite");
  auto stops = line_learner({.epochs = 3});
  stops.add(heard).checkpoints(directory);
  EXPECT_EQ(stops.fit(train, valid).at.epoch, 3);
  const auto good = latest_checkpoint(directory);

  auto goes_on = line_learner({.epochs = 4});
  goes_on.add(heard).checkpoints(directory);
  EXPECT_EQ(sentence_of([&] { return goes_on.fit(train, holes).at.step; }),
            "DataError: training: after step 8 not finite: the loss of validation is nan");
  EXPECT_EQ(latest_checkpoint(directory), good);
  EXPECT_TRUE(std::isnan(heard.of<training::Evaluation>().back().readings[0].value));  // is told nevertheless

  for (const NotFinite rule : {NotFinite::Skip, NotFinite::Ignore}) {
    auto told = line_learner({.epochs = 2, .not_finite = rule});
    Heard notes;
    EXPECT_EQ(told.rate(1e-3).add(notes).fit(train, holes).at.step, 4);
    ASSERT_EQ(notes.of<training::Message>().size(), 2u);
    EXPECT_EQ(notes.of<training::Message>()[1].text, "after step 4 not finite: the loss of validation is nan");
  }
  std::vector<Points> none;  // nothing was measured, which is another problem
  EXPECT_EQ(line_learner({.epochs = 1}).fit(train, none).at.step, 2);
}

TEST(BadInput, WeightsThatAreNoNumbers) {
  auto train = loader(4, {.batch_size = 4});
  const double too_large = std::numeric_limits<double>::max();
  const fs::path directory = fresh_directory("not_finite");
  {
    auto stops = line_learner({.steps = 1});
    stops.rate(too_large).checkpoints(directory);
    EXPECT_EQ(sentence_of([&] { return stops.fit(train).at.step; }),
              "DataError: training: after step 1 not finite: the weights 'linear.weight'");
  }
  EXPECT_TRUE(fs::is_empty(directory));  // by now what was begun is written

  auto goes_on = line_learner({.steps = 1, .not_finite = NotFinite::Ignore});
  Heard heard;
  EXPECT_EQ(goes_on.rate(too_large).add(heard).fit(train).at.step, 1);
  ASSERT_EQ(heard.of<training::Message>().size(), 1u);
  EXPECT_EQ(heard.of<training::Message>()[0].text, "after step 1 not finite: the weights 'linear.weight'");
}

TEST(BadInput, AConfigurationWithoutMeaning) {
  EXPECT_EQ(sentence_of([] { return line_learner({}).position().step; }),
            "ArgumentError: training: set a limit of epochs, steps or seconds");
  EXPECT_EQ(sentence_of([] { return line_learner({.epochs = 1, .accumulate = 0}).position().step; }),
            "ArgumentError: training: accumulate is 0, it must be positive");
  auto none = loader(0, {});
  EXPECT_EQ(sentence_of([&] { return line_learner({.epochs = 1}).fit(none).at.step; }),
            "DataError: training: the training data have no batches: they have no items, or fewer than a batch and "
            "drop_last");
  auto twice = line_learner({.epochs = 1});
  twice.metric(metric::R2{});
  EXPECT_EQ(sentence_of([&] { return &twice.metric(metric::R2{}); }),
            "ArgumentError: training: there are two metrics called 'r2'");
}

TEST(BadInput, WhatIsAllowedButSeldomMeantIsSaid) {
  auto data = loader(4, {.batch_size = 4}), none = loader(0, {});
  const auto told = [&](Line model, auto prepare, auto fit) {
    LineLearner learner(model, AdamConfig{}.init(model), fit_points, {.epochs = 1});
    Heard heard;
    prepare(learner.add(heard));
    fit(learner);
    fit(learner);  // says none of it again but the last
    std::vector<std::string> sentences;
    for (const auto& message : heard.of<training::Message>()) sentences.push_back(message.text);
    return sentences;
  };
  using Sentences = std::vector<std::string>;
  const auto rate = [](auto& learner) { learner.rate(1e-3); };
  const auto fit = [&](auto& learner) { learner.fit(data); };
  EXPECT_EQ(told(
                line(0.5), [](auto&) {}, fit),
            (Sentences{"the rate is 0.001, as none was given: rate(...) or schedule(...) sets it"}));
  EXPECT_EQ(told(line(0.5), rate, fit), Sentences{});
  EXPECT_EQ(told(line(0.5), [](auto& learner) { learner.schedule(ConstantConfig{.rate = 1e-3}); }, fit), Sentences{});
  EXPECT_EQ(
      told(valid(line(0.5)), rate, fit),
      Sentences{"the model is in Mode::Valid, without dropout and the like: train(model) makes one for training"});
  const std::string nothing = "the validation data have no batches: nothing will be measured";
  EXPECT_EQ(told(line(0.5), rate, [&](auto& learner) { learner.fit(data, none); }), (Sentences{nothing, nothing}));
}

// A model for inference cannot be trained by mistake.
TEST(BadInput, NothingToTrain) {
  auto learner = line_learner({.epochs = 1});
  const Line result = learner.result();
  EXPECT_EQ(sentence_of([&] { return AdamConfig{}.init(result); }),
            "AutodiffError: Adam: all parameters of the model are frozen: unfreeze(model) makes one that is trained");
  LineLearner frozen(result, AdamConfig{}.init(line()), fit_points, {.epochs = 1});
  EXPECT_EQ(sentence_of([&] { return frozen.fit(loader(4, {.batch_size = 4})).at.step; }),
            "AutodiffError: value_and_grad: all parameters of the model are frozen: unfreeze(model) makes one that is "
            "trained");
}

// Freezing after the optimizer was made is no mistake, nor is the reverse.
TEST(Learner, ParametersMayBeFrozenOrThawedAfterTheOptimizerWasMade) {
  auto data = loader(8, {.batch_size = 4});
  const Line all = line(), part = freeze(all, Selector("linear.bias"));
  LineLearner frozen(part, AdamConfig{}.init(all), fit_points, {.epochs = 1});
  frozen.rate(0.1).fit(data);
  EXPECT_NE(weights(frozen.model())[0], weights(all)[0]);
  EXPECT_EQ(weights(frozen.model())[1], weights(all)[1]);
  LineLearner thawed(all, AdamConfig{}.init(part), fit_points, {.epochs = 1}), usual = line_learner({.epochs = 1});
  thawed.rate(0.1).fit(data);
  usual.rate(0.1).fit(data);
  EXPECT_EQ(weights(thawed.model()), weights(usual.model()));
}

/// Of two numbers, which of three classes.
struct Named {
  nn::Linear linear;
};
ClassificationOutput name_points(const Named& named, const std::vector<std::int64_t>& labels) {
  const auto count = static_cast<std::int64_t>(labels.size());
  const Tensor<2> scores = named.linear.forward(Tensor<2>::ones({count, 2}, Device::cpu()));
  const auto targets = Tensor<1, Int>::of(labels, {count}, Device::cpu());
  return {nn::CrossEntropyLoss{}.forward(scores, targets), scores, targets};
}
auto naming(const LearnerConfig& config, std::int64_t classes = 3) {
  const Named named{nn::LinearConfig{.in = 2, .out = classes}.init(Device::cpu().autodiff())};
  return Learner(named, AdamConfig{}.init(named), name_points, config);
}
using Labels = std::vector<std::vector<std::int64_t>>;

TEST(BadInput, ALabelThatNoClassHas) {
  const Labels good = {{0, 2}, {1}}, wrong = {{0, 2}, {3}};
  EXPECT_EQ(sentence_of([&] { return naming({.epochs = 1}).fit(wrong).at.step; }).find("IndexError: cross_entropy: "),
            0u);
  auto learner = naming({.epochs = 1});
  EXPECT_EQ(sentence_of([&] { return learner.fit(good, wrong).at.step; }).find("IndexError: cross_entropy: "), 0u);
  EXPECT_EQ(learner.position().step, 2);  // what was learned before stays
}

// What is not trained may be: a class that is ruled out.
TEST(BadInput, FrozenWeightsMayBeInfinite) {
  Named named{nn::LinearConfig{.in = 2, .out = 3}.init(Device::cpu().autodiff())};
  named.linear.bias =
      named.linear.bias.with_value(Tensor<1>::of({0, 0, -std::numeric_limits<double>::infinity()}, Device::cpu()));
  named = freeze(named, Selector("linear.bias"));
  Learner learner(named, AdamConfig{}.init(named), name_points, {.epochs = 1});
  const Labels batches = {{0, 1}, {1}};
  EXPECT_EQ(sentence_of([&] { return learner.fit(batches).at.step; }), "");
  EXPECT_EQ(learner.position().step, 2);
}

// A step that may have to be undone needs the weights before it, but only until that is known.
TEST(Learner, NeedsNoMoreMemoryWhereItMaySkip) {
  const Labels batches = {{0, 2}, {1}, {2}};
  const Device device = Device::cpu();
  const auto memory = [&](NotFinite rule) {
    auto learner = naming({.epochs = 2, .not_finite = rule}, 100'000);
    device.sync();
    const std::int64_t before = device.memory().in_use;
    device.reset_memory_peak();
    learner.fit(batches);
    device.sync();
    return std::pair(device.memory().in_use - before, device.memory().peak - before);
  };
  memory(NotFinite::Stop);  // what is kept from the first time on
  EXPECT_EQ(memory(NotFinite::Skip), memory(NotFinite::Stop));
}

TEST(BadInput, AMetricThatNobodyMeasures) {
  auto data = loader(8, {.batch_size = 4});
  const auto told = [&](const auto& prepare, bool validates = true) {
    auto learner = line_learner({.epochs = 1});
    learner.metric(metric::MeanAbsoluteError{});
    prepare(learner);
    return sentence_of([&] { return validates ? learner.fit(data, data) : learner.fit(data); });
  };
  const std::string names = "; it has 'loss', 'mean_absolute_error'";
  EXPECT_EQ(told([](auto& learner) { learner.plateau({}, {.metric = "los"}); }),
            "ArgumentError: reduce on plateau: the evaluation 'valid' has no metric 'los'" + names +
                " (did you mean 'loss'?)");
  EXPECT_EQ(told([](auto& learner) { learner.add(EarlyStopping{.metric = "accuracy"}); }),
            "ArgumentError: early stopping: the evaluation 'valid' has no metric 'accuracy'" + names);
  EXPECT_EQ(told([](auto& learner) { learner.add(EarlyStopping{}); }, false),
            "ArgumentError: early stopping: the training has no evaluation 'valid'; it has 'train'");
  EXPECT_EQ(told([](auto& learner) {
              learner.checkpoints(fresh_directory("nobody"), {.best = 1, .metric = "mean_absolut_error"});
            }),
            "ArgumentError: checkpoints: the evaluation 'valid' has no metric 'mean_absolut_error'" + names +
                " (did you mean 'mean_absolute_error'?)");
  EXPECT_EQ(told([](auto& learner) { learner.checkpoints(fresh_directory("nobody"), {.metric = "unused"}); }), "");
}

TEST(BadInput, ABatchWithoutItems) {
  const Labels holes = {{0, 2}, {}, {1}}, good = {{0, 2}, {1}};
  for (const NotFinite rule : {NotFinite::Stop, NotFinite::Skip, NotFinite::Ignore})
    EXPECT_EQ(sentence_of([&] { return naming({.epochs = 1, .not_finite = rule}).fit(holes).at.step; }),
              "DataError: training: batch 2 of epoch 1 has no items");

  // Where it is measured, it counts as much as it has.
  const Named named{nn::LinearConfig{.in = 2, .out = 3}.init(Device::cpu())};
  Evaluator evaluator(named, name_points);
  evaluator.metric(metric::Accuracy{});
  const auto expected = evaluator.measure("good", good), found = evaluator.measure("holes", holes);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(found.readings[i].value, expected.readings[i].value);
  const auto nothing = evaluator.measure("none", Labels{{}, {}});
  EXPECT_EQ(nothing.find("loss")->problem, "mean: nothing was measured");
  EXPECT_EQ(nothing.find("accuracy")->problem, "accuracy: nothing was measured");
}

}  // namespace
}  // namespace kiln
