// Each option of schedules, optimizers, clipping and averages, left out, 0, negative, infinite and no number.
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/core/config/config.hpp"
#include "kiln/nn/adapt/adapter.hpp"
#include "kiln/nn/linear.hpp"
#include "kiln/nn/module/average.hpp"
#include "kiln/optim.hpp"
#include "kiln/optim/config.hpp"
#include "tests/support/config_checks.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using config_checks::expect_checked;
using config_checks::expect_checked_from_json_too;

/// Rates that can be taken, and not all of them 0.
bool are_rates(const std::vector<double>& rates) {
  bool some = false;
  for (const double rate : rates) {
    if (!std::isfinite(rate) || rate < 0) return false;
    some = some || rate > 0;
  }
  return some;
}

template <class C>
bool teaches(const C& config) {
  std::vector<double> rates, by_at;
  auto schedule = config.init();
  for (int i = 0; i < 40; ++i) {
    rates.push_back(schedule.next());
    by_at.push_back(config.at(i));
  }
  by_at.push_back(config.at(std::numeric_limits<std::int64_t>::max()));
  EXPECT_TRUE(are_rates(by_at));
  return are_rates(rates);
}
/// Without init(), as Schedule<C>{config} has it.
template <class C>
bool teaches_unchecked(const C& config) {
  Schedule<C> schedule{config};
  std::vector<double> rates;
  for (int i = 0; i < 40; ++i) rates.push_back(schedule.next());
  return are_rates(rates);
}

template <class C>
void expect_schedule_checked(const C& good) {
  expect_checked_from_json_too("init", good, teaches<C>);
  expect_checked("at", good, teaches_unchecked<C>);
  expect_checked("AnySchedule", good, [](const C& config) { return teaches(AnySchedule(config)); });
}

TEST(ConfigChecks, OfSchedules) {
  expect_schedule_checked(LinearRateConfig{.initial = 0.1, .final = 0.01, .steps = 30});
  expect_schedule_checked(StepConfig{.initial = 0.1, .every = 5});
  expect_schedule_checked(MultiStepConfig{.initial = 0.1, .milestones = {3, 6}});
  expect_schedule_checked(ExponentialConfig{.initial = 0.1, .factor = 0.9});
  expect_schedule_checked(PolynomialConfig{.initial = 0.1, .final = 0.01, .power = 2, .steps = 30});
  expect_schedule_checked(NoamConfig{.width = 16, .warmup = 10});
  expect_schedule_checked(CosineConfig{.peak = 0.1, .warmup = 5, .steps = 30, .floor = 0.01});
  expect_schedule_checked(CosineRestartsConfig{.peak = 0.1, .period = 5, .growth = 2, .floor = 0.01});
  expect_schedule_checked(WarmupStableDecayConfig{.peak = 0.1, .warmup = 5, .stable = 5, .decay = 10, .floor = 0.01});
  expect_schedule_checked(OneCycleConfig{.peak = 0.1, .steps = 30});
  expect_schedule_checked(CyclicConfig{.floor = 0.01, .peak = 0.1, .up = 5, .down = 3});

  // A rate of 0 is what a group of parameters may have: nothing else is made of these.
  expect_checked("init", ConstantConfig{.rate = 0.1},
                 [](const ConstantConfig& config) { return config.rate == 0 || teaches(config); });
}

TEST(ConfigChecks, OfSchedulesOfOthers) {
  const std::string step = "StepConfig";
  const AnySchedule wrong = StepConfig{.initial = 0.1, .every = 0};
  for (const auto& call : std::vector<std::function<void()>>{
           [&] { SequentialConfig{.parts = {ConstantConfig{}, wrong}, .milestones = {3}}.init(); },
           [&] { SequentialConfig{.parts = {ConstantConfig{}, wrong}, .milestones = {3}}.at(5); },
           [&] { ComposedConfig{.parts = {wrong}}.at(5); }, [&] { PerGroupConfig{.groups = {wrong}}.at(5); }})
    EXPECT_EQ(sentence_of([&] { return call(), 0; }), "ArgumentError: StepConfig: every = 0 must be positive");
  for (const auto& call :
       std::vector<std::function<void()>>{[] { SequentialConfig{}.at(0); }, [] { ComposedConfig{}.at(0); },
                                          [] { PerGroupConfig{}.at(0); }, [] { LambdaConfig{}.at(0); }})
    EXPECT_NE(sentence_of([&] { return call(), 0; }).find("ArgumentError"), std::string::npos);
  // The largest counts that a field can hold.
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_GE((CosineRestartsConfig{.period = 1, .growth = std::int64_t{1} << 40}.at(kMost)), 0);
  EXPECT_EQ(sentence_of([] { return CyclicConfig{.up = kMost, .down = kMost}.at(3); }),
            "ArgumentError: CyclicConfig: up = 9223372036854775807 must be at most 2^62");
}

TEST(ConfigChecks, OfReduceOnPlateau) {
  expect_checked_from_json_too("init",
                               ReduceOnPlateauConfig{.initial = 0.1, .factor = 0.5, .patience = 2, .cooldown = 1},
                               [](const ReduceOnPlateauConfig& config) {
                                 ReduceOnPlateau plateau = config.init();
                                 std::vector<double> rates;
                                 for (int i = 0; i < 6; ++i) rates.push_back(plateau.observe(1));
                                 return are_rates(rates);
                               });
}

struct Model {
  nn::Param<2> weight;
  nn::Param<1> bias;
};
Model make_model() {
  const Device device = Device::cpu().autodiff();
  return {nn::Param<2>(Tensor<2>::of({{1, 2, 3}, {4, 5, 6}}, device)), nn::Param<1>(ones({3}, device))};
}
bool is_finite(const Model& model) {
  for (const float x : model.weight.to_vector<float>())
    if (!std::isfinite(x)) return false;
  for (const float x : model.bias.to_vector<float>())
    if (!std::isfinite(x)) return false;
  return true;
}
/// Gradients as an embedding has them: many are 0, and at first all of a weight's.
GradientsParams gradients(int step) {
  GradientsParams grads;
  grads.by_path.emplace("weight",
                        (Tensor<2>::of({{0, 0.5, -1}, {0, 0, 2}}, Device::cpu()) * std::min(step, 1)).value());
  grads.by_path.emplace("bias", Tensor<1>::of({0, 0, 0.1}, Device::cpu()).value());
  return grads;
}
/// Steps that change the weights to numbers.
template <class C>
bool steps(const C& config) {
  Model model = make_model();
  OptimizerOptions options;
  if constexpr (std::is_same_v<C, MuonConfig>) options.groups.push_back({.params = "bias", .rule = SgdConfig{}});
  auto optimizer = config.init(model, options);
  for (int i = 0; i < 4; ++i) model = optimizer.step(0.1, std::move(model), gradients(i));
  return is_finite(model) && model.weight.to_vector<float>() != make_model().weight.to_vector<float>();
}
template <class C>
void expect_rule_checked(const C& good) {
  expect_checked_from_json_too("init", good, steps<C>);
  expect_checked("OptimizerConfig", good, [](const C& config) {
    Model model = make_model();
    OptimizerConfig all{.rule = config};
    if constexpr (std::is_same_v<C, MuonConfig>) all.groups = {{.params = "bias", .rule = SgdConfig{}}};
    AnyOptimizer optimizer = all.init(model);
    for (int i = 0; i < 3; ++i) model = optimizer.step(0.1, std::move(model), gradients(i));
    return is_finite(model);
  });
}

TEST(ConfigChecks, OfOptimizers) {
  expect_rule_checked(SgdConfig{.momentum = 0.9, .dampening = 0.1, .weight_decay = 0.1});
  expect_rule_checked(AdamConfig{.weight_decay = 0.1});
  expect_rule_checked(AdamConfig{.amsgrad = true});
  expect_rule_checked(AdamWConfig{});
  expect_rule_checked(AdamWConfig{.cautious = true, .cautious_decay = true});
  expect_rule_checked(NAdamConfig{.weight_decay = 0.1});
  expect_rule_checked(RAdamConfig{.weight_decay = 0.1});
  expect_rule_checked(RmsPropConfig{.weight_decay = 0.1, .momentum = 0.5});
  expect_rule_checked(AdaGradConfig{});
  expect_rule_checked(AdaDeltaConfig{});
  expect_rule_checked(AdafactorConfig{.epsilon = 1e-5});
  expect_rule_checked(AdanConfig{});
  expect_rule_checked(LambConfig{});
  expect_rule_checked(LionConfig{.weight_decay = 0.1});
  expect_rule_checked(MuonConfig{});
  expect_rule_checked(SoapConfig{.every = 2});
  expect_rule_checked(ScheduleFreeAdamWConfig{.warmup = 2});
}

TEST(ConfigChecks, OfLbfgs) {
  expect_checked_from_json_too("init", LbfgsConfig{}, [](const LbfgsConfig& config) {
    Model model = make_model();
    Lbfgs optimizer = config.init(model);
    for (int i = 0; i < 2; ++i)
      model = optimizer.step(1, model, [](const Model& m) { return (m.weight.square().sum() + m.bias.square().sum()); })
                  .model;
    return is_finite(model);
  });
}

TEST(ConfigChecks, OfGroupsAndRates) {
  const auto trains = [](double step_rate, double group_rate) {
    Model model = make_model();
    auto optimizer = SgdConfig{}.init(model, {.groups = {{.params = "bias", .rule = SgdConfig{}, .rate = group_rate}}});
    model = optimizer.step(step_rate, std::move(model), gradients(1));
    return is_finite(model);
  };
  for (const double wrong : {-1.0, std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    EXPECT_NE(sentence_of([&] { return trains(0.1, wrong); }).find("Sgd: a learning rate of"), std::string::npos);
    EXPECT_NE(sentence_of([&] { return trains(wrong, 1); }).find("Sgd: a learning rate of"), std::string::npos);
  }
}

TEST(ConfigChecks, OfClipping) {
  expect_checked("clipped", ClipOptions{.value = 1, .norm = 1, .adaptive = 0.1, .global_norm = 1},
                 [](const ClipOptions& clip) {
                   Model model = make_model();
                   auto optimizer = SgdConfig{}.init(model, {.groups = {}, .clip = clip});
                   return is_finite(optimizer.step(0.1, std::move(model), gradients(1)));
                 });
}

TEST(ConfigChecks, OfTheScaler) {
  expect_checked_from_json_too("init", GradientScalerConfig{.exponent = 4, .interval = 2},
                               [](const GradientScalerConfig& config) {
                                 GradientScaler scaler = config.init();
                                 return std::isfinite(scaler.scale()) && scaler.scale() > 0;
                               });
}

TEST(ConfigChecks, OfAverages) {
  expect_checked_from_json_too("init", EmaConfig{.decay = 0.5}, [](const EmaConfig& config) {
    const Model before = make_model();
    WeightAverage average = config.init(before);
    Model other = make_model();
    other.bias = other.bias.with_value(Tensor<1>::of({3, 4, 5}, Device::cpu()));
    average.update(other);
    const Model mean = average.apply(before);
    return is_finite(mean) && mean.bias.to_vector<float>() != before.bias.to_vector<float>();  // it moves
  });
}

TEST(ConfigChecks, OfAdapters) {
  const Model model = make_model();
  expect_checked("init", LoraConfig{.rank = 1, .alpha = 2}, [&](const LoraConfig& config) {
    const Adapter adapter = config.init(model);
    for (const auto& [path, part] : adapter.parts)
      if (const double scale = std::get<nn::LowRank>(part).scale; !std::isfinite(scale) || scale == 0) return false;
    return true;
  });
}

}  // namespace
}  // namespace kiln
