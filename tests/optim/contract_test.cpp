// What rules promise in words: the names of their records, by which later versions read them, and what wrong options
// are told.
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/optim.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

struct Model {
  nn::Param<2> weight;
};
Model make_model(DType dtype = DType::F32) { return {nn::Param<2>(ones({2, 3}, Device::cpu().autodiff(), dtype))}; }

std::string names(const AnyRule& rule, DType dtype = DType::F32) {
  std::string list;
  const AnyOptimizer optimizer(rule, make_model(dtype));
  optimizer.visit_state([&](const std::string& name, const auto&) { list += (list.empty() ? "" : " ") + name; });
  return list;
}

TEST(Records, HaveNamesThatStay) {
  EXPECT_EQ(names(SgdConfig{}), "weight.steps");
  EXPECT_EQ(names(SgdConfig{.momentum = 0.9}), "weight.velocity weight.steps");
  EXPECT_EQ(names(AdamConfig{}), "weight.first_moment weight.second_moment weight.steps");
  EXPECT_EQ(names(AdamWConfig{.amsgrad = true}),
            "weight.first_moment weight.second_moment weight.largest_second_moment weight.steps");
  EXPECT_EQ(names(AdaGradConfig{}), "weight.square_sum weight.steps");
  EXPECT_EQ(names(AdaDeltaConfig{}), "weight.second_moment weight.step_second_moment weight.steps");
  EXPECT_EQ(names(RmsPropConfig{}), "weight.second_moment weight.steps");
  EXPECT_EQ(names(RmsPropConfig{.momentum = 0.9, .centered = true}),
            "weight.second_moment weight.first_moment weight.velocity weight.steps");
  EXPECT_EQ(names(AdanConfig{}),
            "weight.first_moment weight.difference_moment weight.second_moment weight.previous_gradient weight.steps");
  EXPECT_EQ(names(LionConfig{}), "weight.first_moment weight.steps");
  EXPECT_EQ(names(LambConfig{}), "weight.first_moment weight.second_moment weight.steps");
  EXPECT_EQ(names(NAdamConfig{}), "weight.first_moment weight.second_moment weight.momentum_product weight.steps");
  EXPECT_EQ(names(RAdamConfig{}), "weight.first_moment weight.second_moment weight.steps");
  EXPECT_EQ(names(AdafactorConfig{}), "weight.row_second_moment weight.column_second_moment weight.steps");
  EXPECT_EQ(names(MuonConfig{}), "weight.first_moment weight.steps");
  EXPECT_EQ(names(ScheduleFreeAdamWConfig{}),
            "weight.base weight.second_moment weight.weight_sum weight.largest_rate weight.steps");
  EXPECT_EQ(names(SoapConfig{}),
            "weight.first_moment weight.second_moment weight.left weight.right weight.left_basis weight.right_basis "
            "weight.steps");
  EXPECT_EQ(names(SoapConfig{.longest = 2}),
            "weight.first_moment weight.second_moment weight.left weight.left_basis weight.steps");
  EXPECT_EQ(names(LionConfig{}, DType::BF16), "weight.first_moment weight.master weight.steps");
}

std::string said(const AnyRule& rule) {
  return sentence_of([&] { AnyOptimizer(rule, make_model()); });
}

TEST(Rules, SayWhatIsWrongWithTheirOptions) {
  EXPECT_EQ(said(AdamWConfig{.beta2 = -0.1}), "ArgumentError: AdamWConfig: beta2 = -0.1 must lie in [0, 1)");
  EXPECT_EQ(said(AdamConfig{.beta1 = NAN}), "ArgumentError: AdamConfig: beta1 = nan must lie in [0, 1)");
  EXPECT_EQ(said(AdaGradConfig{.initial = -1}), "ArgumentError: AdaGradConfig: initial = -1 must not be negative");
  EXPECT_EQ(said(AdaDeltaConfig{.rho = 1}), "ArgumentError: AdaDeltaConfig: rho = 1 must lie in [0, 1)");
  EXPECT_EQ(said(RmsPropConfig{.momentum = -1}), "ArgumentError: RmsPropConfig: momentum = -1 must not be negative");
  EXPECT_EQ(said(AdanConfig{.beta3 = 1}), "ArgumentError: AdanConfig: beta3 = 1 must lie in [0, 1)");
  EXPECT_EQ(said(LionConfig{.weight_decay = INFINITY}), "ArgumentError: LionConfig: weight_decay = inf must be finite");
  EXPECT_EQ(said(LambConfig{.epsilon = -1}), "ArgumentError: LambConfig: epsilon = -1 must be positive");
  EXPECT_EQ(said(NAdamConfig{.momentum_decay = -1}),
            "ArgumentError: NAdamConfig: momentum_decay = -1 must not be negative");
  EXPECT_EQ(said(RAdamConfig{.beta1 = 1}), "ArgumentError: RAdamConfig: beta1 = 1 must lie in [0, 1)");
  EXPECT_EQ(said(AdafactorConfig{.decay = 0.8}),
            "ArgumentError: AdafactorConfig: decay = 0.8 must be negative and finite");
  EXPECT_EQ(said(AdafactorConfig{.threshold = 0}), "ArgumentError: AdafactorConfig: threshold = 0 must be positive");
  EXPECT_EQ(said(MuonConfig{.iterations = 0}), "ArgumentError: MuonConfig: iterations = 0 must lie in [1, 99]");
  EXPECT_EQ(said(ScheduleFreeAdamWConfig{.beta1 = 0}),
            "ArgumentError: ScheduleFreeAdamWConfig: beta1 = 0 leaves no average");
  EXPECT_EQ(said(ScheduleFreeAdamWConfig{.warmup = -1}),
            "ArgumentError: ScheduleFreeAdamWConfig: warmup = -1 must not be negative");
  EXPECT_EQ(said(SoapConfig{.basis_beta = 1}), "ArgumentError: SoapConfig: basis_beta = 1 must lie in [0, 1)");
  EXPECT_EQ(said(SoapConfig{.every = 0}), "ArgumentError: SoapConfig: every = 0 and longest = 10000 must be positive");
}

// Where SOAP would take eigenvectors of NaN it throws, and neither model nor optimizer has changed.
TEST(Soap, ThrowsWhereAGradientIsNoNumber) {
  const Model model = make_model();
  AnyOptimizer optimizer(SoapConfig{}, model);
  GradientsParams grads;
  grads.by_path["weight"] = ones({2, 3}, Device::cpu().autodiff()) * NAN;
  EXPECT_NE(sentence_of([&] { optimizer.step(0.1, model, grads); }), "");
  EXPECT_EQ(optimizer.states().at("weight").steps, 0);
  EXPECT_EQ(optimizer.states().at("weight").slots[2].data().at(0), 0);
}

}  // namespace
}  // namespace kiln
