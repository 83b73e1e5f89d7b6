// Schedules against closed forms and PyTorch's rates (torch_figures.py), saved, combined and drawn.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numbers>
#include <span>

#include "kiln/optim.hpp"
#include "tests/optim/torch_figures.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using std::int64_t;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct ScheduleRow {
  std::string label;
  AnySchedule schedule;
  std::function<double(int64_t)> closed{};  // the rate of a step, written another way
  std::span<const double> torch{};
};

AnySchedule sequence() {
  return SequentialConfig{.parts = {LinearRateConfig{.initial = 0.1, .final = 0.5, .steps = 8},
                                    ExponentialConfig{.initial = 0.5, .factor = 0.9}},
                          .milestones = {8}};
}
AnySchedule composed(ComposedConfig::By by) {
  return ComposedConfig{
      .parts = {ExponentialConfig{.initial = 0.5, .factor = 0.95}, StepConfig{.initial = 1, .every = 9, .factor = 0.5}},
      .by = by};
}

const std::vector<ScheduleRow>& schedule_rows() {
  using By = ComposedConfig::By;
  using Mode = CyclicConfig::Mode;
  using Shape = WarmupStableDecayConfig::Shape;
  constexpr double kPi = std::numbers::pi;
  static const std::vector<ScheduleRow> rows = {
      {"constant", ConstantConfig{.rate = 0.3}, [](int64_t) { return 0.3; }},
      {"linear", LinearRateConfig{.initial = 0.1, .final = 0.5, .steps = 17},
       [](int64_t t) { return t < 17 ? 0.1 + 0.4 * double(t) / 17 : 0.5; }, kTorchLinear},
      {"cosine", CosineConfig{.peak = 0.5, .steps = 39, .floor = 0.02},
       [=](int64_t t) { return 0.26 + 0.24 * std::cos(kPi * double(t) / 39); }, kTorchCosine},
      {"cosine_restarts", CosineRestartsConfig{.peak = 0.5, .period = 5, .growth = 2, .floor = 0.02},
       [=](int64_t t) {
         const int64_t begin = t < 5 ? 0 : t < 15 ? 5 : t < 35 ? 15 : 35, length = begin + 5;
         return 0.26 + 0.24 * std::cos(kPi * double(t - begin) / double(length));
       },
       kTorchCosineRestarts},
      {"cosine_restarts_of_one_length", CosineRestartsConfig{.peak = 1, .period = 4},
       [=](int64_t t) { return 0.5 + 0.5 * std::cos(kPi * double(t % 4) / 4); }},
      {"exponential", ExponentialConfig{.initial = 0.5, .factor = 0.93},
       [](int64_t t) { return 0.5 * std::exp(double(t) * std::log(0.93)); }, kTorchExponential},
      {"step", StepConfig{.initial = 0.5, .every = 7, .factor = 0.4},
       [](int64_t t) { return 0.5 * std::exp(double(t - t % 7) / 7 * std::log(0.4)); }, kTorchStep},
      {"multi_step", MultiStepConfig{.initial = 0.5, .milestones = {4, 5, 19}, .factor = 0.3},
       [](int64_t t) { return t < 4    ? 0.5
                              : t < 5  ? 0.15
                              : t < 19 ? 0.045
                                       : 0.0135; }, kTorchMultiStep},
      {"polynomial", PolynomialConfig{.initial = 0.5, .power = 1.7, .steps = 30},
       [](int64_t t) { return t < 30 ? 0.5 * std::exp(1.7 * std::log(1 - double(t) / 30)) : 0; }, kTorchPolynomial},
      {"polynomial_to_a_floor", PolynomialConfig{.initial = 0.5, .final = 0.1, .power = 2, .steps = 10},
       [](int64_t t) { return t < 10 ? 0.1 + 0.4 * (1 - 0.1 * double(t)) * (1 - 0.1 * double(t)) : 0.1; }},
      {"noam", NoamConfig{.factor = 2, .width = 64, .warmup = 10},
       [](int64_t t) { return t < 10 ? 0.25 * double(t + 1) / std::sqrt(1000) : 0.25 / std::sqrt(double(t + 1)); }},
      {"one_cycle", OneCycleConfig{.peak = 0.5, .steps = 41}, {}, kTorchOneCycle},
      {"one_cycle_of_three_lines",
       OneCycleConfig{.peak = 0.5,
                      .steps = 41,
                      .rise = 0.25,
                      .start_divisor = 10,
                      .end_divisor = 100,
                      .linear = true,
                      .three_phases = true},
       {},
       kTorchOneCycleLinear},
      {"cyclic", CyclicConfig{.floor = 0.1, .peak = 0.5, .up = 5, .down = 8},
       [](int64_t t) { return t % 13 < 5 ? 0.1 + 0.08 * double(t % 13) : 0.5 - 0.05 * double(t % 13 - 5); },
       kTorchCyclicTriangular},
      {"cyclic_halving",
       CyclicConfig{.floor = 0.1, .peak = 0.5, .up = 6, .mode = Mode::Halving},
       {},
       kTorchCyclicHalving},
      {"cyclic_exponential",
       CyclicConfig{.floor = 0.1, .peak = 0.5, .up = 6, .mode = Mode::Exponential, .factor = 0.97},
       {},
       kTorchCyclicExponential},
      {"warmup_stable_decay", WarmupStableDecayConfig{.peak = 1, .warmup = 4, .stable = 6, .decay = 10, .floor = 0.2},
       [](int64_t t) {
         return t < 4 ? 0.25 * double(t + 1) : t < 10 ? 1 : t < 20 ? 1 - 0.08 * double(t - 10) : 0.2;
       }},
      {"warmup_stable_decay_root",
       WarmupStableDecayConfig{.peak = 1, .stable = 6, .decay = 16, .shape = Shape::InverseRoot},
       [](int64_t t) { return t < 6    ? 1
                              : t < 22 ? 1 - std::sqrt(double(t - 6)) / 4
                                       : 0; }},
      {"warmup_stable_decay_cosine",
       WarmupStableDecayConfig{.peak = 1, .stable = 6, .decay = 16, .shape = Shape::Cosine},
       [](int64_t t) { return t < 6    ? 1
                              : t < 22 ? std::pow(std::cos(kPi * double(t - 6) / 32), 2)
                                       : 0; }},
      {"lambda", LambdaConfig{[](int64_t t) { return 1 / double(t + 1); }},
       [](int64_t t) { return 1 / double(t + 1); }},
      {"sequential", sequence(), [](int64_t t) { return t < 8 ? 0.1 + 0.05 * double(t) : 0.5 * std::pow(0.9, t - 8); },
       kTorchSequential},
      {"product", composed(By::Product), {}, kTorchProduct},
      {"sum", composed(By::Sum), [](int64_t t) { return 0.5 * std::pow(0.95, t) + std::pow(0.5, t / 9); }},
      {"mean", composed(By::Mean), [](int64_t t) { return 0.25 * std::pow(0.95, t) + std::pow(0.5, t / 9) / 2; }},
  };
  return rows;
}

class Schedules : public testing::TestWithParam<ScheduleRow> {};

TEST_P(Schedules, HaveTheirRates) {
  const ScheduleRow& row = GetParam();
  ASSERT_TRUE(row.closed || !row.torch.empty());
  auto schedule = row.schedule.init();
  for (int64_t t = 0; t < 40; ++t) {
    const double rate = schedule.next();
    if (row.closed) { EXPECT_NEAR(rate, row.closed(t), 1e-12) << t; }
    if (!row.torch.empty()) { EXPECT_NEAR(rate, row.torch[static_cast<std::size_t>(t)], 1e-12) << t; }
  }
  EXPECT_GE(row.schedule.at(1'000'000), 0);
  EXPECT_LE(row.schedule.at(1'000'000), 1);
}

TEST_P(Schedules, GoOnFromARecord) {
  auto schedule = GetParam().schedule.init();
  for (int i = 0; i < 13; ++i) schedule.next();
  std::map<std::string, int64_t> record;
  schedule.visit_state([&](const std::string& name, const int64_t& part) { record[name] = part; });
  auto other = GetParam().schedule.init();
  other.visit_state([&](const std::string& name, int64_t& part) { part = record.at(name); });
  for (int i = 0; i < 13; ++i) EXPECT_EQ(other.next(), schedule.next());
}

INSTANTIATE_TEST_SUITE_P(All, Schedules, testing::ValuesIn(schedule_rows()),
                         [](const auto& info) { return info.param.label; });

TEST(PerGroup, GivesARateForEach) {
  auto schedule =
      PerGroupConfig{.groups = {ConstantConfig{.rate = 0.5}, LinearRateConfig{.initial = 1, .final = 0, .steps = 4}}}
          .init();
  EXPECT_EQ(schedule.next(), (std::vector<double>{0.5, 1}));
  EXPECT_EQ(schedule.next(), (std::vector<double>{0.5, 0.75}));
}

// ---- by what training comes to ---------------------------------------------------------------------------------------

double metric(int i) { return i < 8 ? 1.0 / (1 + i) : i < 30 ? 0.12 + 0.01 * std::sin(i) : 0.02; }

TEST(Plateau, HasPyTorchsRates) {
  ReduceOnPlateau plateau = ReduceOnPlateauConfig{.initial = 0.5, .factor = 0.4, .patience = 3}.init();
  for (int i = 0; i < 40; ++i) EXPECT_NEAR(plateau.observe(metric(i)), kTorchPlateau[i], 1e-12) << i;
  const ReduceOnPlateauConfig config{.initial = 0.5,
                                     .factor = 0.4,
                                     .patience = 2,
                                     .cooldown = 2,
                                     .threshold = 0.01,
                                     .floor = 0.05,
                                     .rising = true,
                                     .absolute = true};
  ReduceOnPlateau rising = config.init();
  for (int i = 0; i < 40; ++i) EXPECT_NEAR(rising.observe(-metric(i)), kTorchPlateauMost[i], 1e-12) << i;
}

TEST(Plateau, TakesNaNForNoBetter) {
  ReduceOnPlateau plateau = ReduceOnPlateauConfig{.initial = 1, .patience = 1}.init();
  EXPECT_EQ(plateau.observe(std::nan("")), 1);
  EXPECT_EQ(plateau.observe(std::nan("")), 0.1);
  EXPECT_EQ(plateau.observe(5), 0.1);
}

TEST(Plateau, GoesOnFromARecord) {
  const ReduceOnPlateauConfig config{.initial = 0.5, .factor = 0.4, .patience = 2, .cooldown = 2};
  for (const int steps : {0, 3, 13, 14, 20}) {
    ReduceOnPlateau plateau = config.init(), other = config.init();
    for (int i = 0; i < steps; ++i) plateau.observe(metric(i));
    std::map<std::string, TensorData> record;
    plateau.visit_state([&](const std::string& name, const auto& part) { record[name] = Value(part).data(); });
    other.visit_state([&]<class P>(const std::string& name, P& part) {
      if constexpr (std::same_as<P, int64_t>) part = record.at(name).to_vector<int64_t>()[0];
      else part = from_data(record.at(name), Device::cpu());
    });
    for (int i = steps; i < 40; ++i) EXPECT_EQ(other.observe(metric(i)), plateau.observe(metric(i)));
  }
}

// ---- pictures --------------------------------------------------------------------------------------------------------

TEST(Plot, DrawsAScheduleInLetters) {
  EXPECT_EQ(plot(LinearRateConfig{.initial = 4, .final = 0, .steps = 4}, 5, {.width = 5, .height = 5}),
            "4 |*\n"
            "  | *\n"
            "  |  *\n"
            "  |   *\n"
            "0 |    *\n"
            "  +-----\n"
            "   0   4 step\n");
  EXPECT_EQ(plot(StepConfig{.initial = 0.5, .every = 3, .factor = 0}, 6, {.width = 2, .height = 3}),
            "0.5 |*\n"
            "    |\n"
            "  0 | *\n"
            "    +--\n"
            "     0 5 step\n");
}

TEST(Plot, ShowsAllThatAColumnHas) {
  EXPECT_EQ(plot(CyclicConfig{.floor = 0, .peak = 2, .up = 2}, 400, {.width = 4, .height = 3}),
            "2 |****\n"
            "  |****\n"
            "0 |****\n"
            "  +----\n"
            "   0 399 step\n");
  EXPECT_EQ(plot(ConstantConfig{.rate = 0}, 3, {.width = 9, .height = 2}), "0 |\n0 |***\n  +---\n   0 2 step\n");
}

// ---- wrong configs ---------------------------------------------------------------------------------------------------

TEST(Schedules, SayWhatIsWrong) {
  const auto said = [](const AnySchedule& schedule) { return sentence_of([&] { schedule.init(); }); };
  EXPECT_EQ(said(ConstantConfig{.rate = -1}), "ArgumentError: ConstantConfig: rate = -1 must not be negative");
  EXPECT_EQ(said(ConstantConfig{.rate = kInfinity}), "ArgumentError: ConstantConfig: rate = inf must be finite");
  EXPECT_EQ(said(MultiStepConfig{.milestones = {5, 4}}), "ArgumentError: MultiStepConfig: milestones must rise");
  EXPECT_EQ(said(ExponentialConfig{.factor = 2}), "ArgumentError: ExponentialConfig: factor = 2 must lie in (0, 1]");
  EXPECT_EQ(said(PolynomialConfig{.power = 0, .steps = 3}),
            "ArgumentError: PolynomialConfig: power = 0 must be positive");
  EXPECT_EQ(said(NoamConfig{.width = 0}), "ArgumentError: NoamConfig: width = 0 must be positive");
  EXPECT_EQ(said(CosineRestartsConfig{.period = 0}),
            "ArgumentError: CosineRestartsConfig: period = 0 must be positive");
  EXPECT_EQ(said(WarmupStableDecayConfig{.stable = -1, .decay = 1}),
            "ArgumentError: WarmupStableDecayConfig: stable = -1 must be at least 0");
  EXPECT_EQ(said(OneCycleConfig{.steps = 1}), "ArgumentError: OneCycleConfig: steps = 1 must be at least 2");
  EXPECT_EQ(said(OneCycleConfig{.steps = 9, .rise = 0.6, .three_phases = true}),
            "ArgumentError: OneCycleConfig: rise = 0.6 must lie in (0, 0.5)");
  EXPECT_EQ(said(OneCycleConfig{.steps = 9, .start_divisor = 0}),
            "ArgumentError: OneCycleConfig: start_divisor = 0 and end_divisor = 10000 must be at least 1");
  EXPECT_EQ(said(CyclicConfig{.floor = 1, .peak = 0.5, .up = 1}),
            "ArgumentError: CyclicConfig: floor = 1 is above peak = 0.5");
  EXPECT_EQ(said(LambdaConfig{}), "ArgumentError: LambdaConfig: there is no function");
  EXPECT_EQ(said(SequentialConfig{.parts = {ConstantConfig{}, ConstantConfig{}}, .milestones = {}}),
            "ArgumentError: SequentialConfig: 2 parts need 1 milestones, got 0");
  EXPECT_EQ(said(SequentialConfig{}), "ArgumentError: SequentialConfig: 0 parts need to be some, got 0");
  EXPECT_EQ(said(ComposedConfig{.parts = {StepConfig{.every = 0}}}),
            "ArgumentError: StepConfig: every = 0 must be positive");
  EXPECT_EQ(said(ComposedConfig{}), "ArgumentError: ComposedConfig: there are no parts");
  EXPECT_EQ(sentence_of([] { ReduceOnPlateauConfig{.factor = 1}.init(); }),
            "ArgumentError: ReduceOnPlateauConfig: factor = 1 must lie in [0, 1)");
  EXPECT_EQ(sentence_of([] { plot(ConstantConfig{}, 0); }), "ArgumentError: plot: 0 steps in 72 x 12 characters");
}

}  // namespace
}  // namespace kiln
