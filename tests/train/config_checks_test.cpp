// Each option of a training, of its data, its metrics and what watches it left out, 0, negative, infinite and no
// number.
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/core/config/arguments.hpp"
#include "kiln/data/compose/sections.hpp"
#include "kiln/data/digits.hpp"
#include "kiln/data/picture/augment.hpp"
#include "kiln/data/sampler.hpp"
#include "kiln/data/stream/interleave.hpp"
#include "kiln/data/stream/sources.hpp"
#include "kiln/data/stream/stream_loader.hpp"
#include "kiln/optim/schedule.hpp"
#include "kiln/train/early_stopping.hpp"
#include "kiln/train/log/tensorboard.hpp"
#include "kiln/train/metric/accuracy.hpp"
#include "kiln/train/metric/image.hpp"
#include "kiln/train/metric/meteor.hpp"
#include "kiln/train/metric/ranking.hpp"
#include "kiln/train/metric/ratio.hpp"
#include "kiln/train/metric/words.hpp"
#include "tests/support/config_checks.hpp"
#include "tests/support/sentence.hpp"
#include "tests/train/fresh_directory.hpp"
#include "tests/train/heard.hpp"
#include "tests/train/line.hpp"

namespace kiln {
namespace {

using config_checks::expect_checked;
using config_checks::expect_checked_from_json_too;

bool has_learned(const LineLearner& learner) {
  for (const float weight : weights(learner.model()))
    if (!std::isfinite(weight)) return false;
  return weights(learner.model()) != weights(line());
}

template <class S>
void expect_schedule_checked(const S& good) {
  for (const Every every : {Every::Step, Every::Epoch})
    expect_checked("Learner::schedule", good,
                   [&](const S& schedule) {
                     auto data = loader(20, {.batch_size = 4});
                     auto learner = line_learner({.epochs = 2});
                     learner.schedule(schedule, every).fit(data);
                     return has_learned(learner);
                   },
                   {std::string(reflect::type_name<S>()), "training"});
}

// What these are is true of all schedules; tests/optim/config_checks_test.cpp has their other doors.
TEST(ConfigChecks, OfALearnersSchedule) {
  expect_schedule_checked(ConstantConfig{.rate = 0.1});
  expect_schedule_checked(LinearRateConfig{.initial = 0.1, .final = 0.01, .steps = 5});
  expect_schedule_checked(StepConfig{.initial = 0.1, .every = 2});
  expect_schedule_checked(MultiStepConfig{.initial = 0.1, .milestones = {2, 4}});
  expect_schedule_checked(ExponentialConfig{.initial = 0.1, .factor = 0.9});
  expect_schedule_checked(PolynomialConfig{.initial = 0.1, .steps = 5});
  expect_schedule_checked(NoamConfig{.width = 16, .warmup = 10});
  expect_schedule_checked(CosineConfig{.peak = 0.1, .warmup = 1, .steps = 10});
  expect_schedule_checked(CosineRestartsConfig{.peak = 0.1, .period = 3});
  expect_schedule_checked(WarmupStableDecayConfig{.peak = 0.1, .stable = 1, .decay = 5});
  expect_schedule_checked(OneCycleConfig{.peak = 0.1, .steps = 10});
  expect_schedule_checked(CyclicConfig{.floor = 0.01, .peak = 0.1, .up = 2});
}

TEST(ConfigChecks, OfALearnersRate) {
  const auto said = [](double rate) {
    return sentence_of([&] {
      line_learner({.epochs = 1}).rate(rate);
      return 0;
    });
  };
  EXPECT_EQ(said(0.1), "");
  EXPECT_EQ(said(0),
            "ArgumentError: training: the rate is 0, it must be positive and finite; freeze() leaves parameters "
            "as they are");
  for (const double wrong : {-1.0, std::nan(""), HUGE_VAL, -HUGE_VAL})
    EXPECT_EQ(said(wrong).find("ArgumentError: training: the rate is "), 0u) << said(wrong);
  expect_checked("Learner::plateau", ReduceOnPlateauConfig{.initial = 0.1, .patience = 2},
                 [](const ReduceOnPlateauConfig& config) {
                   auto data = loader(20, {.batch_size = 4}), valid = loader(8, {.batch_size = 4});
                   auto learner = line_learner({.epochs = 2});
                   learner.plateau(config).fit(data, valid);
                   return has_learned(learner);
                 });
}

/// A schedule of the user's own, without a check.
struct OwnSchedule {
  double third;
  double at(std::int64_t step) const { return step == 2 ? third : 0.1; }
};
struct NoRates {
  std::vector<double> at(std::int64_t) const { return {}; }
};

TEST(ConfigChecks, OfASchedulesAnswers) {
  auto data = loader(20, {.batch_size = 4});
  const auto said = [&](const auto& schedule) {
    auto learner = line_learner({.epochs = 1});
    learner.schedule(schedule);
    return sentence_of([&] { return learner.fit(data); });
  };
  EXPECT_EQ(said(OwnSchedule{0}), "");  // one step without a change is what somebody may want
  EXPECT_EQ(said(OwnSchedule{std::nan("")}),
            "ArgumentError: training: the schedule's rate for step 3 is nan, it must be finite and not negative");
  EXPECT_EQ(said(OwnSchedule{-0.5}),
            "ArgumentError: training: the schedule's rate for step 3 is -0.5, it must be finite and not negative");
  EXPECT_EQ(said(NoRates{}), "ArgumentError: training: the schedule gives no rate for step 1");
}

TEST(ConfigChecks, OfALearnersLimits) {
  expect_checked_from_json_too("Learner",
                               LearnerConfig{.epochs = 2,
                                             .steps = 6,
                                             .seconds = 60.0,
                                             .validate_every = 2,
                                             .log_every = 2,
                                             .scaler = GradientScalerConfig{.exponent = 4}},
                               [](const LearnerConfig& config) {
                                 auto data = loader(20, {.batch_size = 4}), valid = loader(8, {.batch_size = 4});
                                 auto learner = line_learner(config);
                                 return learner.rate(0.1).fit(data, valid).at.step > 0 && has_learned(learner);
                               },
                               {"training", "GradientScalerConfig"});
  EXPECT_NE(sentence_of([] {
              return LearnerConfig{.epochs = 1, .autocast = DType::I32}.check(), 0;
            }).find("training: autocast is int32"),
            std::string::npos);
}

TEST(ConfigChecks, OfALearnersAverage) {
  expect_checked("Learner::average", EmaConfig{.decay = 0.5}, [](const EmaConfig& config) {
    auto data = loader(20, {.batch_size = 4});
    auto learner = line_learner({.epochs = 1});
    learner.rate(0.1).average(config).fit(data);
    return weights(learner.result()) != weights(line());
  });
}

TEST(ConfigChecks, OfCheckpointRules) {
  expect_checked_from_json_too(
      "checkpoints",
      CheckpointRules{.every_steps = 2, .every_epochs = 1, .every_minutes = 1.0, .best = 1, .every_hours = 1.0},
      [](const CheckpointRules& rules) {
        auto data = loader(20, {.batch_size = 4}), valid = loader(8, {.batch_size = 4});
        const auto directory = fresh_directory("rules");
        auto learner = line_learner({.epochs = 1});
        learner.checkpoints(directory, rules).fit(data, valid);
        return Checkpointer(directory, {}).latest().has_value();
      },
      {"checkpoints"});
}

/// The numbers of an EarlyStopping.
struct Stopping {
  std::int64_t patience = 2, warmup = 1;
  double least_change = 0.125;
};
EarlyStopping rule_of(const Stopping& numbers) {
  return {
      .split = "train", .patience = numbers.patience, .warmup = numbers.warmup, .least_change = numbers.least_change};
}

TEST(ConfigChecks, OfEarlyStopping) {
  const std::vector<std::string> name = {"EarlyStopping"};
  expect_checked(
      "Learner::add", Stopping{},
      [](const Stopping& numbers) {
        auto data = loader(20, {.batch_size = 4});
        auto learner = line_learner({.epochs = 3});
        learner.rate(0.1).add(rule_of(numbers)).fit(data);
        return has_learned(learner);
      },
      name);
  expect_checked(
      "events", Stopping{},
      [](const Stopping& numbers) {
        EarlyStopping rule = rule_of(numbers);
        training::Begin begin;
        rule.on(begin, begin.control);
        return !begin.control.should_stop();  // nothing has been measured yet
      },
      name);
}

TEST(EarlyStopping, WithoutPatienceEndsAtTheFirstEvaluationThatIsNoBetter) {
  for (const std::int64_t patience : {0, 1}) {
    EarlyStopping rule{.patience = patience};
    training::Begin begin;
    rule.on(begin, begin.control);
    std::string ended;
    for (const double loss : {3.0, 2.0, 1.0, 1.5}) {
      EXPECT_FALSE(begin.control.should_stop()) << loss;
      rule.on(training::Evaluation{{}, "valid", {{"loss", loss}}}, begin.control);
    }
    EXPECT_EQ(begin.control.reason(), "valid loss has not been better than 1 for 1 evaluations");
  }
}

TEST(ConfigChecks, OfLoaders) {
  expect_checked("DataLoader", LoaderConfig{.batch_size = 4, .workers = 1, .prefetch = 2},
                 [](const LoaderConfig& config) {
                   std::size_t items = 0;
                   for (const Points& batch : loader(10, config)) items += batch.x.size();
                   return items == 10;
                 },
                 {"data loader"});
  expect_checked("StreamLoader",
                 StreamLoaderConfig{.batch_size = 4, .workers = 1, .prefetch = 2, .batches = 2, .save_every = 3},
                 [](const StreamLoaderConfig& config) { return checked(config).batch_size > 0; },
                 {"stream loader", "data loader"});
  expect_checked("windows", WindowConfig{.size = 2, .stride = 1},
                 [](const WindowConfig& config) { return window_count(config, 10) > 0; }, {"windows"});
  expect_checked("by_length", LengthBatches{.lengths = {}, .batch_size = 2, .most_tokens = 9, .pool = 3},
                 [](LengthBatches config) {
                   config.lengths = {1, 2, 3, 4};
                   std::size_t items = 0;
                   for (const Points& batch : loader(4, {.sampler = in_random_order(), .batches = by_length(config)}))
                     items += batch.x.size();
                   return items == 4;
                 },
                 {"by_length"});
  expect_checked("Digits", DigitsConfig{.count = 3, .side = 10},
                 [](const DigitsConfig& config) {
                   const Digits digits(config);
                   return config.count == 0 || !digits.get(0).pixels.empty();
                 },
                 {"Digits"});
  for (const double wrong : {-1.0, std::nan(""), HUGE_VAL, 0.0})
    EXPECT_NE(sentence_of([&] { return loader(2, {.sampler = weighted({wrong, wrong})}).size(); }).find("weighted"),
              std::string::npos)
        << wrong;
}

TEST(ConfigChecks, OfAugmentation) {
  Picture grey;
  grey.height = grey.width = 12;
  grey.channels = 3;
  grey.pixels.assign(12 * 12 * 3, {});
  const auto draws = [&](auto change) {
    return [&, change](const auto& config) {
      Random random(Key{1});
      const Picture changed = change(grey, config, random);
      return changed.height > 0 && changed.width > 0 && !changed.pixels.empty();
    };
  };
  expect_checked("random_resized_crop", RandomResizedCrop{.height = 4, .width = 4},
                 draws([](const auto& p, const auto& c, Random& r) { return random_resized_crop(p, c, r); }),
                 {"random_resized_crop"});
  expect_checked("colour_jittered", ColourJitter{.brightness = 0.1, .contrast = 0.1, .saturation = 0.1, .hue = 0.1},
                 draws([](const auto& p, const auto& c, Random& r) { return colour_jittered(p, c, r); }),
                 {"colour_jittered"});
  expect_checked("rand_augmented", RandAugment{.operations = 2, .magnitude = 9},
                 draws([](const auto& p, const auto& c, Random& r) { return rand_augmented(p, c, r); }),
                 {"rand_augmented"});
}

/// Options of metrics, a number at a time: beside them a metric has its states.
template <class Make>
void expect_metric_checked(std::string_view metric, const std::string& field, double good, Make measure) {
  SCOPED_TRACE(text(metric, ' ', field));
  EXPECT_TRUE(std::isfinite(measure(good)));
  for (const double number : {0.0, -1.0, std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    double found = 0;
    const std::string said = sentence_of([&] { return found = measure(number); });
    if (said.empty()) EXPECT_TRUE(std::isfinite(found)) << number;
    else EXPECT_TRUE(said.find(metric) != said.npos && said.find(field) != said.npos) << number << ": " << said;
  }
}

TEST(ConfigChecks, OfMetrics) {
  const auto scores = Tensor<2>::of({{0.1, 0.9}, {0.8, 0.2}}, Device::cpu());
  const auto labels = Tensor<1, Int>::of({1, 1}, Device::cpu());
  const auto whole = [](double number) { return static_cast<std::int64_t>(std::isfinite(number) ? number : -1); };
  const auto value = [](auto metric, const auto&... operands) {
    metric.update(operands...);
    return metric.value();
  };
  const auto yes = Tensor<2, Int>::of({{1, 0}, {0, 1}}, Device::cpu());
  expect_metric_checked("accuracy", "threshold", 0.5, [&](double number) {
    return value(metric::Accuracy{.options = {.threshold = number}}, scores, yes);
  });
  expect_metric_checked("hamming", "top", 1, [&](double number) {
    return value(metric::HammingScore{.options = {.top = whole(number)}}, scores, yes);
  });
  expect_metric_checked("top-k accuracy", "k", 1,
                        [&](double number) { return value(metric::TopKAccuracy{.k = whole(number)}, scores, labels); });
  expect_metric_checked("calibration error", "bins", 5, [&](double number) {
    return value(metric::CalibrationError{.bins = whole(number)}, scores, labels);
  });
  expect_metric_checked("f_beta", "beta", 2, [](double number) { return metric::ratio::FBeta{number}({1, 2, 2, 4}); });
  const Tensor<4> black(zeros({1, 1, 176, 176}, Device::cpu())), white = black + 0.5;
  expect_metric_checked("psnr", "range", 1,
                        [&](double number) { return value(metric::Psnr{.range = number}, black, white); });
  expect_metric_checked("ssim", "range", 1,
                        [&](double number) { return value(metric::Ssim{.range = number}, black, white); });
  expect_metric_checked("ms-ssim", "range", 1,
                        [&](double number) { return value(metric::MsSsim{.range = number}, black, white); });
  const std::initializer_list<std::string_view> right = {"the cat sat on the mat"};
  const std::string_view text = "a cat sat on the mat today";
  for (const auto& [name, place] :
       {std::pair("alpha", &metric::Meteor::alpha), std::pair("beta", &metric::Meteor::beta),
        std::pair("gamma", &metric::Meteor::gamma)})
    expect_metric_checked("meteor", name, 0.5, [&](double number) {
      metric::Meteor meteor;
      meteor.*place = number;
      return value(meteor, text, right);
    });
  expect_metric_checked("bleu", "n", 2,
                        [&](double number) { return value(metric::Bleu{.n = whole(number)}, text, right); });
  expect_metric_checked("chrf", "n", 2,
                        [&](double number) { return value(metric::ChrF{.n = whole(number)}, text, right); });
  expect_metric_checked("chrf", "words", 2,
                        [&](double number) { return value(metric::ChrF{.words = whole(number)}, text, right); });
  expect_metric_checked("chrf", "beta", 2,
                        [&](double number) { return value(metric::ChrF{.beta = number}, text, right); });
  expect_metric_checked("rouge", "n", 2, [&](double number) {
    return value(metric::RougeN{.n = whole(number)}, text, std::string_view("a cat sat"));
  });
}

/// What JSON cannot say, a command line says no more.
template <class C>
void expect_arguments_checked() {
  for (const config::Option& option : config::options_for<C>())
    for (const char* const word : {"nan", "inf", "-inf", "1e999"}) {
      if (option.is_text || option.is_list) continue;
      const std::string said = text("--", option.path, '=', word);
      const char* const arguments[] = {"program", said.c_str()};
      const std::string sentence = sentence_of([&] { return from_arguments<C>(2, arguments), 0; });
      EXPECT_TRUE(sentence.starts_with("ConfigError") && sentence.find(option.path) != sentence.npos)
          << said << ": " << sentence;
    }
}

TEST(ConfigChecks, OfTheCommandLine) {
  expect_arguments_checked<LearnerConfig>();
  expect_arguments_checked<CheckpointRules>();
  expect_arguments_checked<AdamWConfig>();
}

TEST(ConfigChecks, OfTensorBoard) {
  for (const std::int64_t every : {0, -1})
    EXPECT_NE(sentence_of([&] { return TensorBoard("none", "", every), 0; }).find("tensorboard: every is "),
              std::string::npos);
}

}  // namespace
}  // namespace kiln
