// Optimizers and schedules from JSON and back.
#include "kiln/optim/config.hpp"

#include <gtest/gtest.h>

#include "kiln/core/config/config.hpp"
#include "kiln/optim.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

struct Model {
  nn::Param<2> weight;
  nn::Param<1> bias;
};
Model make_model() {
  const Device device = Device::cpu().autodiff();
  return {nn::Param<2>(ones({2, 2}, device)), nn::Param<1>(ones({2}, device))};
}

TEST(OptimizerConfig, SaysRulesGroupsAndClipping) {
  const auto config = from_json<OptimizerConfig>(R"({
    "rule": {"Muon": {"momentum": 0.8, "scale": "Spectral"}}, "clip": {"global_norm": 2},
    "groups": [{"params": {"rank": [0, 1]}, "rule": "Lion", "rate": 0.1}]})",
                                                 "optimizer.json");
  const auto* const muon = std::get_if<MuonConfig>(&config.rule);
  ASSERT_NE(muon, nullptr);
  EXPECT_EQ(muon->momentum, 0.8);
  EXPECT_EQ(muon->scale, MuonConfig::Scale::Spectral);
  EXPECT_EQ(config.clip.global_norm, 2);
  const AnyOptimizer optimizer = config.init(make_model());
  EXPECT_EQ(optimizer.groups()[0].rule.name(), "Muon");
  EXPECT_EQ(optimizer.groups()[1].rule.name(), "Lion");
  EXPECT_EQ(optimizer.groups()[1].rate, 0.1);
  EXPECT_EQ(optimizer.states().at("bias").slots.size(), 1);
}

TEST(OptimizerConfig, ComesBackAsItWas) {
  OptimizerConfig config{.rule = AdafactorConfig{.epsilon = 1e-5}, .clip = {.value = 3}};
  config.groups = {{.params = "bias", .rule = SgdConfig{.momentum = 0.9, .nesterov = true}, .rate = 2}};
  const std::string written = write_json(to_json(config));
  const auto read = from_json<OptimizerConfig>(std::string_view(written), "optimizer.json");
  EXPECT_EQ(write_json(to_json(read)), written);
  EXPECT_EQ(std::get<AdafactorConfig>(read.rule).epsilon, 1e-5);
  EXPECT_EQ(any_rule(from_json<OptimizerConfig>("{}", "o.json").rule).name(), "AdamW");
}

TEST(OptimizerConfig, WhatIsNoneOfItsRulesHasAConfigOfItsOwn) {
  EXPECT_NE(sentence_of([] { from_json<OptimizerConfig>(R"({"rule": "Lbfgs"})", "o.json"); }).find("o.json: 'rule'"),
            std::string::npos);
  const auto lbfgs = from_json<LbfgsConfig>(R"({"history": 5, "line_search": "None"})", "lbfgs.json");
  EXPECT_EQ(lbfgs.init(make_model()).config().history, 5);
  EXPECT_EQ(lbfgs.line_search, LbfgsConfig::LineSearch::None);
  EXPECT_NE(sentence_of([] { from_json<LbfgsConfig>(R"({"history": 0})", "lbfgs.json"); }).find("history"),
            std::string::npos);

  ReduceOnPlateau plateau =
      from_json<ReduceOnPlateauConfig>(R"({"initial": 0.5, "patience": 0, "factor": 0.5})", "p.json").init();
  plateau.observe(1);
  EXPECT_EQ(plateau.observe(2), 0.25);
  const auto rates = from_json<PerGroupConfig>(
      R"({"groups": [{"Constant": {"rate": 2}}, {"Exponential": {"initial": 1, "factor": 0.5}}]})", "r.json");
  EXPECT_EQ(rates.at(1), (std::vector<double>{2, 0.5}));
}

TEST(AnySchedule, ComesFromJsonAndGoesThere) {
  const auto schedule = from_json<AnySchedule>(R"({"Sequential": {"milestones": [2], "parts": [
    {"LinearRate": {"initial": 0, "final": 1, "steps": 2}}, {"Exponential": {"initial": 1, "factor": 0.5}}]}})",
                                               "s.json");
  EXPECT_EQ(schedule.at(1), 0.5);
  EXPECT_EQ(schedule.at(4), 0.25);
  const std::string written = write_json(to_json(schedule));
  EXPECT_EQ(write_json(to_json(from_json<AnySchedule>(std::string_view(written), "s.json"))), written);
  EXPECT_EQ(sentence_of([] { to_json(AnySchedule(LambdaConfig{[](std::int64_t) { return 1.0; }})); }),
            "ConfigError: LambdaConfig: a function cannot be written as JSON");
}

TEST(OptimizerConfig, SaysWhatIsWrong) {
  const auto said = [](std::string_view json) {
    return sentence_of([&] { from_json<OptimizerConfig>(json, "o.json"); });
  };
  EXPECT_EQ(
      said(R"({"rule": "AdmaW"})"),
      R"(ConfigError: o.json: 'rule' must be one of "AdamW", "Sgd", "Adam", "AdaGrad", "AdaDelta", "RmsProp", "Adan", )"
      R"("Muon", "Lion", "Adafactor", "Lamb", "NAdam", "RAdam", "ScheduleFreeAdamW", "Soap", got "AdmaW")"
      " (did you mean 'AdamW'?)");
  EXPECT_EQ(said(R"({"rule": {"Adam": {"beta1": "high"}}})"),
            "ConfigError: o.json: 'rule.Adam.beta1' must be a number, got \"high\"");
  EXPECT_EQ(said(R"({"rule": {"Adam": {"bta1": 1}}})"),
            "ConfigError: o.json: unknown key 'rule.Adam.bta1' (did you mean 'beta1'?)");
  EXPECT_EQ(said(R"({"clip": {"norm": "small"}})"), "ConfigError: o.json: 'clip.norm' must be a number, got \"small\"");
  EXPECT_EQ(sentence_of([] { from_json<AnySchedule>(R"({"Cosine": {}})", "s.json"); }),
            "ConfigError: s.json: 'Cosine.steps' is missing");
}

}  // namespace
}  // namespace kiln
