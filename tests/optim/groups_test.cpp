// Groups of parameters with rules and rates of their own, clipping as an option, gradients of several batches and
// devices.
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/nn/module/freeze.hpp"
#include "kiln/optim.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::autodiff;

struct Model {
  nn::Param<2> weight;
  nn::Param<1> bias;
};
Model make_model() {
  return {nn::Param<2>(Tensor<2>::of({{3, 0}, {0, 4}}, autodiff)), nn::Param<1>(Tensor<1>::of({1, 1}, autodiff))};
}
GradientsParams gradients(double scale = 1, const Device& where = autodiff) {
  GradientsParams grads;
  grads.by_path["weight"] = Tensor<2>::of({{3 * scale, 0}, {0, 4 * scale}}, where).value();
  grads.by_path["bias"] = Tensor<1>::of({12 * scale, 0}, where).value();
  return grads;
}
const Selector is_vector = Selector::rank(0, 1);
using Numbers = std::vector<float>;
Numbers weight(const Model& model) { return model.weight.to_vector(); }
Numbers bias(const Model& model) { return model.bias.to_vector(); }

TEST(Groups, HaveRulesAndRatesOfTheirOwn) {
  const Model model = make_model();
  AnyOptimizer optimizer(SgdConfig{}, model, {.groups = {{.params = is_vector, .rule = LionConfig{}, .rate = 0.5}}});
  const Model next = optimizer.step(0.5, model, gradients());
  EXPECT_EQ(weight(next), (Numbers{1.5, 0, 0, 2}));
  EXPECT_EQ(bias(next), (Numbers{0.75, 1}));  // a step of 0.25 down the sign
}

TEST(Groups, TakeARateEach) {
  const Model model = make_model();
  auto optimizer = SgdConfig{}.init(model, {.groups = {{.params = is_vector, .rule = SgdConfig{}, .rate = 0.5}}});
  const Model next = optimizer.step({0.5, 0.25}, model, gradients());
  EXPECT_EQ(weight(next), (Numbers{1.5, 0, 0, 2}));
  EXPECT_EQ(bias(next), (Numbers{-2, 1}));
}

TEST(Groups, TheFirstThatWantsAParameterHasIt) {
  const Model model = make_model();
  const Selector any = Selector::all();
  AnyOptimizer optimizer(
      AdamConfig{}, model,
      {.groups = {{.params = is_vector, .rule = LionConfig{}}, {.params = any, .rule = SgdConfig{}}}});
  EXPECT_EQ(optimizer.states().at("bias").slots.size(), 1);  // Lion's
  EXPECT_EQ(optimizer.states().at("weight").slots.size(), 0);
  EXPECT_NE(optimizer.groups()[1].rule.as<LionConfig>(), nullptr);
  EXPECT_EQ(optimizer.groups()[1].rule.as<SgdConfig>(), nullptr);
}

TEST(Groups, AreWhatMuonNeeds) {
  const Model model = make_model();
  EXPECT_EQ(
      sentence_of([&] { MuonConfig{}.init(model); }),
      "ArgumentError: Muon: a parameter of shape [2] is no matrix; put it into a group with another rule, as 'bias' "
      "is");
  AnyOptimizer optimizer(MuonConfig{}, model, {.groups = {{.params = is_vector, .rule = AdamWConfig{}}}});
  const Model next = optimizer.step(0.1, model, gradients());
  EXPECT_LT(weight(next)[0], 3);
  EXPECT_LT(bias(next)[0], 1);
}

TEST(Groups, SayWhatIsWrong) {
  const Model model = make_model();
  EXPECT_EQ(
      sentence_of([&] { AnyOptimizer(SgdConfig{}, model, {.groups = {{.params = "head", .rule = LionConfig{}}}}); }),
      "ArgumentError: Sgd: 'head' selects none of the model's parameters");
  EXPECT_EQ(sentence_of([&] {
              AnyOptimizer(SgdConfig{}, model, {.groups = {{.params = is_vector, .rule = LionConfig{.beta1 = 2}}}});
            }),
            "ArgumentError: LionConfig: beta1 = 2 must lie in [0, 1)");
  auto optimizer = SgdConfig{}.init(model, {.groups = {{.params = is_vector, .rule = LionConfig{}}}});
  EXPECT_EQ(sentence_of([&] { optimizer.step(Rates{0.1}, model, gradients()); }),
            "ArgumentError: Sgd: 1 rates for 2 groups, the optimizer's own among them");
  EXPECT_EQ(sentence_of([&] { optimizer.step({0.1, -1}, model, gradients()); }),
            "ArgumentError: Lion: a learning rate of -1");
  EXPECT_EQ(sentence_of([&] { SgdConfig{}.init(model, {.clip = {.norm = 0}}); }),
            "ArgumentError: ClipOptions: norm: a limit of 0 is not positive");
}

TEST(Frozen, ParametersHaveNoStateAndStay) {
  Model model = freeze(make_model(), "bias");
  AnyOptimizer optimizer(AdamConfig{}, model, {.groups = {{.params = "bias", .rule = LionConfig{}}}});
  EXPECT_FALSE(optimizer.states().contains("bias"));
  model = optimizer.step(0.1, std::move(model), gradients());
  EXPECT_EQ(bias(model), (Numbers{1, 1}));
  EXPECT_LT(weight(model)[0], 3);
  EXPECT_FALSE(optimizer.states().contains("bias"));
  model = unfreeze(std::move(model), "bias");  // from here on its group's rule moves it
  model = optimizer.step(0.5, std::move(model), gradients());
  EXPECT_EQ(bias(model), (Numbers{0.5, 1}));
  EXPECT_EQ(optimizer.states().at("bias").steps, 1);
  model = optimizer.step(0.5, freeze(std::move(model), "weight"), gradients());
  EXPECT_EQ(optimizer.states().at("weight").steps, 2);  // waits for the day when it is trained again
  EXPECT_EQ(optimizer.states().at("bias").steps, 2);
}

TEST(Optimizer, BeginsAnewWithAParameterThatWasRemoved) {
  Model model = make_model();
  auto optimizer = AdamConfig{}.init(model);
  model = optimizer.step(0.1, std::move(model), gradients());
  optimizer.remove("bias");
  EXPECT_FALSE(optimizer.states().contains("bias"));
  model = optimizer.step(0.1, std::move(model), gradients());
  EXPECT_EQ(optimizer.states().at("bias").steps, 1);
  EXPECT_EQ(optimizer.states().at("weight").steps, 2);
}

TEST(ScheduleFree, HasAnAverageToUse) {
  Model model = make_model();
  const Model first = model;
  auto optimizer = ScheduleFreeAdamWConfig{.beta1 = 0.5}.init(model);
  EXPECT_EQ(weight(optimizer.averaged(model)), weight(first));
  model = optimizer.step(0.5, std::move(model), gradients());
  // z = x = 3 - 0.5 after one step, whatever beta1.
  EXPECT_NEAR(weight(optimizer.averaged(model))[0], 2.5, 1e-6);
  model = optimizer.step(0.5, std::move(model), gradients());
  // z = 2, whose average with 2.5 is x = 2.25; y lies between both.
  EXPECT_NEAR(weight(optimizer.averaged(model))[0], 2.25, 1e-5);
  EXPECT_NEAR(weight(model)[0], 2.125, 1e-5);
}

// ---- clipping
// --------------------------------------------------------------------------------------------------------

Model clipped(const ClipOptions& clip) {
  const Model model = make_model();
  return SgdConfig{}.init(model, {.clip = clip}).step(1, model, gradients());
}
void expect_near(const Numbers& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
}

TEST(Clipping, IsAnOptionOfEveryOptimizer) {
  const Model by_value = clipped({.value = 2});
  expect_near(weight(by_value), {1, 0, 0, 2});
  expect_near(bias(by_value), {-1, 1});
  const Model by_norm = clipped({.norm = 1});  // of 5 and of 12
  expect_near(weight(by_norm), {3 - 0.6, 0, 0, 4 - 0.8});
  expect_near(bias(by_norm), {0, 1});
  const Model by_global_norm = clipped({.global_norm = 6.5});  // of 13
  expect_near(weight(by_global_norm), {1.5, 0, 0, 2});
  expect_near(bias(by_global_norm), {-5, 1});
  const Model both = clipped({.value = 3, .norm = 2});
  expect_near(bias(both), {-1, 1});
}

// Rows [3, 0] and [0, 4] are as long as their gradients; the bias [1, 1] has one of 12.
TEST(Clipping, FollowsTheParametersNorms) {
  const Model adaptive = clipped({.adaptive = 0.5});
  expect_near(weight(adaptive), {1.5, 0, 0, 2});
  expect_near(bias(adaptive), {1 - std::sqrt(2) / 2, 1});
  const Model lenient = clipped({.adaptive = 1});
  expect_near(weight(lenient), {0, 0, 0, 0});
  GradientsParams grads = gradients();
  const std::map<std::string, Value> zero{{"weight", zeros({2, 2}, autodiff)}, {"bias", zeros({2}, autodiff)}};
  expect_near(clip_adaptively(grads, zero, 1).by_path.at("bias").data().to_vector<float>(), {1e-3, 0});
  EXPECT_EQ(sentence_of([&] { clip_adaptively(grads, {}, 1); }),
            "ArgumentError: clip_adaptively: there is no parameter 'bias'");
}

TEST(Clipping, LeavesSmallNormsAlone) {
  EXPECT_EQ(clip_by_norm(gradients(), 12.5).by_path.at("bias").data().to_vector<float>(), (Numbers{12, 0}));
  EXPECT_EQ(sentence_of([] { clip_by_norm(gradients(), 0); }),
            "ArgumentError: clip_by_norm: a limit of 0 is not positive");
}

// ---- several batches, several devices
// --------------------------------------------------------------------------------

TEST(Accumulation, GivesSumOrMeanOfWhatWasAdded) {
  GradientsAccumulator accumulator;
  EXPECT_EQ(sentence_of([&] { accumulator.mean(); }), "ArgumentError: GradientsAccumulator: nothing was added");
  GradientsParams some = gradients(3);
  some.by_path.erase("bias");
  accumulator.add(gradients());
  accumulator.add(some);
  EXPECT_EQ(accumulator.count(), 2);
  GradientsParams mean = accumulator.mean();
  EXPECT_EQ(mean.find("weight")->data().to_vector<float>(), (Numbers{6, 0, 0, 8}));
  EXPECT_EQ(mean.find("bias")->data().to_vector<float>(), (Numbers{6, 0}));
  EXPECT_EQ(accumulator.count(), 0);
  accumulator.add(gradients());
  EXPECT_EQ(accumulator.sum().by_path.at("bias").data().to_vector<float>(), (Numbers{12, 0}));
}

// 2048 + 1 is not a float16; 512 times 2^-14 is.
TEST(Accumulation, OfHalvesIsInFloat32) {
  GradientsAccumulator accumulator;
  GradientsParams one;
  one.by_path["x"] = Tensor<1>::of({2048}, autodiff).to(DType::F16).value();
  accumulator.add(one);
  one.by_path["x"] = Tensor<1>::of({1}, autodiff).to(DType::F16).value();
  accumulator.add(one);
  const GradientsParams sum = accumulator.sum();
  EXPECT_EQ(sum.find("x")->dtype(), DType::F32);
  EXPECT_EQ(sum.find("x")->data().at(0), 2049);
}

TEST(Accumulation, KeepsWhatItHasWhereABatchDoesNotFit) {
  GradientsAccumulator accumulator;
  accumulator.add(gradients());
  GradientsParams wrong;
  wrong.by_path["bias"] = ones({3}, autodiff);
  EXPECT_EQ(sentence_of([&] { accumulator.add(wrong); }), "ShapeError: gradients of 'bias' have shapes [2] and [3]");
  EXPECT_EQ(accumulator.count(), 1);
  EXPECT_EQ(accumulator.sum().by_path.at("bias").data().to_vector<float>(), (Numbers{12, 0}));
}

TEST(Merging, BringsGradientsOfSeveralDevicesToOne) {
  const Device other = Device::parse("reference");
  const GradientsParams list[] = {gradients(1), gradients(3, other), gradients(5, other)};
  const GradientsParams sum = sum_of(list, autodiff), mean = mean_of(list, other);
  EXPECT_EQ(sum.find("weight")->device().name(), autodiff.name());
  EXPECT_EQ(sum.find("weight")->data().to_vector<float>(), (Numbers{27, 0, 0, 36}));
  EXPECT_EQ(mean.find("weight")->device().name(), other.name());
  EXPECT_EQ(mean.find("bias")->data().to_vector<float>(), (Numbers{36, 0}));
  EXPECT_EQ(sentence_of([&] { mean_of({}, other); }), "ArgumentError: mean_of: there are no gradients");
  const Model next = SgdConfig{}.init(make_model()).step(0.5, make_model(), mean_of(list, autodiff));
  EXPECT_EQ(weight(next), (Numbers{3 - 4.5, 0, 0, 4 - 6}));
}

}  // namespace
}  // namespace kiln
