// Trainings that PyTorch began and Kiln goes on with.
#include "kiln/store/pytorch_optimizer.hpp"

#include <map>

#include <gtest/gtest.h>

#include "kiln/nn.hpp"
#include "kiln/optim.hpp"

#include "../nn/sines.hpp"
#include "formats/samples.hpp"
#include "pytorch_checkpoints.hpp"
#include "temporary.hpp"

namespace kiln {
namespace {

struct Model {
  nn::Linear a, b;
  Tensor<0> loss() const {
    const Tensor<2> x = sines_of<2>({4, 2}, .9, .5), y = sines_of<2>({4, 1}, .7, .1);
    return (b.forward(a.forward(x).tanh()) - y).square().mean();
  }
};
Model make_model() {
  const Device device = Device::cpu().autodiff();
  return {nn::LinearConfig{.in = 2, .out = 3}.init(device), nn::LinearConfig{.in = 3, .out = 1}.init(device)};
}

template <class Config>
void expect_pytorchs_steps(const Config& config, const PytorchCheckpoint& checkpoint) {
  const TemporaryFile file("checkpoint.pt");
  write_text(file.path, checkpoint.file);
  Model model = make_model();
  load(model, file.path, {.under = "model"});
  auto optimizer = config.init(model);
  EXPECT_TRUE(load_pytorch_optimizer(optimizer, model, file.path, {.under = "optimizer"}).complete());
  for (int step = 0; step < 3; ++step) {
    auto [loss, grads] = value_and_grad(model, [](const Model& m) { return m.loss(); });
    model = optimizer.step(0.05, std::move(model), grads);
  }
  std::vector<double> found;
  visit_params(model, [&](const std::string&, const nn::AnyLeaf& param) {
    for (const float number : param.to_vector()) found.push_back(number);
  });
  ASSERT_EQ(found.size(), checkpoint.later.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], checkpoint.later[i], 1e-5) << i;
}

TEST(PytorchOptimizer, AdamWGoesOnAsPyTorchWouldHave) {
  expect_pytorchs_steps(AdamWConfig{.weight_decay = 0.1, .amsgrad = true}, kAdamWCheckpoint);
}
TEST(PytorchOptimizer, SgdGoesOnAsPyTorchWouldHave) {
  expect_pytorchs_steps(SgdConfig{.momentum = 0.9}, kSgdCheckpoint);
}

TEST(PytorchOptimizer, SaysWhatDoesNotFit) {
  const TemporaryFile file("checkpoint.pt");
  write_text(file.path, kAdamWCheckpoint.file);
  const Model model = make_model();
  Sgd sgd = SgdConfig{.momentum = 0.9}.init(model);
  const std::string error = error_of([&] { load_pytorch_optimizer(sgd, model, file.path, {.under = "optimizer"}); });
  EXPECT_NE(error.find("'state.0.exp_avg' is not a state of this rule"), std::string::npos) << error;

  const std::vector<std::string> params = {"w"};
  const auto refused = [&](const char* name, std::vector<std::string_view> rules = {"AdamW"}) {
    TensorSource state;
    state.tensors.emplace(name, stored(TensorData({}, DType::F32)));
    return error_of([&] { from_pytorch_optimizer(state, params, {}, {.rules = rules, .state = {}}, "c.pt"); });
  };
  EXPECT_EQ(refused("state.1.exp_avg"),
            "LoadError: c.pt: 'state.1.exp_avg' belongs to a parameter beyond the 1 of the optimizer");
  for (const char* name : {"state.0.square_avg", "state.x.exp_avg", "state.0", "state.-1.step", "state.0exp_avg"})
    EXPECT_EQ(refused(name), text("LoadError: c.pt: '", name, "' is not a state of this rule"));
  EXPECT_EQ(refused("state.0.step", {"Lion"}), "ArgumentError: no optimizer of PyTorch is known for the rule Lion");
  EXPECT_NE(error_of([&] {
              load_pytorch_optimizer(sgd, model, file.path, {.under = "optimizer", .close_gaps = true});
            }).find("close_gaps counts names"),
            std::string::npos);
}

TEST(PytorchOptimizer, HalvesKeepTheirMasters) {
  const TemporaryFile file("checkpoint.pt");
  write_text(file.path, kAdamWCheckpoint.file);
  Model whole = make_model();
  load(whole, file.path, {.under = "model"});
  const auto half = [](const std::string&, const Value& value) { return cast(value, DType::BF16); };
  const Model model = map_params(whole, half);
  AdamW optimizer = AdamWConfig{.amsgrad = true}.init(model);
  EXPECT_TRUE(load_pytorch_optimizer(optimizer, model, file.path, {.under = "optimizer"}).complete());
  const ParamState& state = optimizer.states().at("b.weight");
  EXPECT_EQ(state.steps, 3);
  EXPECT_EQ(state.master.data().to_vector<float>(), model.b.weight.to_vector());
  const TensorSource source = open_tensors(file.path);
  EXPECT_EQ(state.slots[0].data().to_vector<float>(),
            source.tensors.at("optimizer.state.2.exp_avg").read().to_vector<float>());
}

/// A file as PyTorch writes it of an optimizer that was given names, in two groups.
TensorSource named_state() {
  TensorSource source;
  source.metadata = {{"o.param_groups.0.param_names", "[lstm.weight_ih_l0, a.in_proj_weight]"},
                     {"o.param_groups.0.params", "[0, 2]"},
                     {"o.param_groups.1.param_names", "[lstm.bias_ih_l0]"},
                     {"o.param_groups.1.params", "[1]"}};
  const auto put = [&](int number, const char* slot, TensorData data) {
    source.tensors.emplace(text("o.state.", number, '.', slot), stored(std::move(data)));
  };
  put(0, "exp_avg", TensorData::of<float>({1, 2}, {1, 2}));
  put(0, "step", TensorData::of<float>({}, {7}));
  put(1, "exp_avg", TensorData::of<float>({1}, {3}));
  put(1, "step", TensorData::of<float>({}, {8}));
  put(2, "exp_avg", TensorData::of<float>({3, 1}, {4, 5, 6}));
  put(2, "step", TensorData::of<float>({}, {9}));
  return source;
}

TEST(PytorchOptimizer, KnowsParametersByTheNamesThatTheFileHas) {
  const TensorSource file = named_state();
  const std::vector<std::string> names = pytorch_optimizer_params(file.metadata, "o");
  EXPECT_EQ(names, (std::vector<std::string>{"lstm.weight_ih_l0", "lstm.bias_ih_l0", "a.in_proj_weight"}));
  EXPECT_TRUE(pytorch_optimizer_params(file.metadata, "").empty());
  const TensorSource found = from_pytorch_optimizer(under(file, "o", "f"), names, {.pytorch_layers = true},
                                                    {.rules = {"Adam"}, .state = {}}, "f");
  std::map<std::string, std::vector<double>> all;
  for (const auto& [name, tensor] : found.tensors) all[name] = tensor.read().to_vector<double>();
  const std::map<std::string, std::vector<double>> right = {{"a.key.weight.first_moment", {5}},
                                                            {"a.key.weight.steps", {9}},
                                                            {"a.query.weight.first_moment", {4}},
                                                            {"a.query.weight.steps", {9}},
                                                            {"a.value.weight.first_moment", {6}},
                                                            {"a.value.weight.steps", {9}},
                                                            {"lstm.layers.0.bias_ih.first_moment", {3}},
                                                            {"lstm.layers.0.bias_ih.steps", {8}},
                                                            {"lstm.layers.0.weight_ih.first_moment", {1, 2}},
                                                            {"lstm.layers.0.weight_ih.steps", {7}}};
  EXPECT_EQ(all, right);
}

TEST(PytorchOptimizer, ComesBackFromWhatItIsSavedAs) {
  const TemporaryFile file("optimizer.pt");
  Model model = make_model();
  const auto trained = [&](auto optimizer) {
    for (int step = 0; step < 3; ++step) {
      auto [loss, grads] = value_and_grad(model, [](const Model& m) { return m.loss(); });
      model = optimizer.step(0.01, std::move(model), grads);
    }
    save_pytorch_optimizer(optimizer, model, file.path);
    return optimizer;
  };
  const auto expect_same = [&](const auto& optimizer, auto other) {
    EXPECT_TRUE(load_pytorch_optimizer(other, model, file.path).complete());
    const TensorFile a = record_of(optimizer), b = record_of(other);
    for (const auto& [name, data] : a.tensors) {
      if (name.ends_with("steps")) continue;
      EXPECT_EQ(difference(b.tensors.at(name), data, {1e-7, 0}), "") << name;
    }
  };
  // A mixed optimizer: matrices by Muon, whose buffer has the name of SGD's.
  const AnyOptimizer mixed(MuonConfig{}, model,
                           {.groups = {{.params = Selector::rank(1), .rule = SgdConfig{.momentum = 0.9}}}});
  expect_same(trained(mixed), mixed);
  expect_same(trained(NAdamConfig{}.init(model)), NAdamConfig{}.init(model));
  expect_same(trained(AdafactorConfig{}.init(model)), AdafactorConfig{}.init(model));
  const TensorSource state = open_tensors(file.path);
  EXPECT_EQ(state.tensors.at("state.0.row_var").shape, (Shape{3, 1}));
  EXPECT_EQ(state.tensors.at("state.3.step").read().to_vector<float>(), std::vector<float>{3});

  EXPECT_NE(error_of([&] { save_pytorch_optimizer(LionConfig{}.init(model), model, file.path); }).find("the rule Lion"),
            std::string::npos);
  const std::vector<std::string> others = {"a.weight"};
  EXPECT_EQ(error_of([&] { save_pytorch_optimizer(SgdConfig{}.init(model), model, file.path, others); }),
            "ArgumentError: save_pytorch_optimizer: 'a.bias' is none of the parameters");
}

}  // namespace
}  // namespace kiln
