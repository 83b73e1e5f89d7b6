// Parameters that are kept and not trained: a head on a backbone that stays as it is.
#include "kiln/nn/module/freeze.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kiln/kiln.hpp"

#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::autodiff, test::cpu;

struct Backbone {
  nn::Linear first, second;
  Tensor<2> forward(const Tensor<2>& x) const { return second.forward(first.forward(x).tanh()).tanh(); }
};
struct Net {
  Backbone backbone;
  nn::Linear head;
  Tensor<2> forward(const Tensor<2>& x) const { return head.forward(backbone.forward(x)); }
};

Net make_net(const Device& on = autodiff) {
  on.seed(3);
  const auto linear = [&](std::int64_t in, std::int64_t out) { return nn::LinearConfig{in, out}.init(on); };
  return {{linear(3, 5), linear(5, 4)}, linear(4, 2)};
}

const std::vector<float> kInputs = {0.5f, -1, 2, 0.25f, 0.75f, -0.5f, 1.5f, 1, -2, -0.25f, 0.1f, 0.3f};
const std::vector<float> kTargets = {1, -1, 0.5f, 0.25f, -0.75f, 2, 0, 1};
Tensor<2> inputs() { return Tensor<2>::of(kInputs, {4, 3}, autodiff); }
Tensor<2> targets() { return Tensor<2>::of(kTargets, {4, 2}, autodiff); }

Tensor<0> squared_error(const Net& net) { return (net.forward(inputs()) - targets()).square().mean(); }

std::map<std::string, std::vector<float>> numbers_of(const Net& net) {
  std::map<std::string, std::vector<float>> numbers;
  visit_params(net, [&](const std::string& path, const auto& param) { numbers[path] = param.to_vector(); });
  return numbers;
}
std::vector<std::string> frozen_in(const auto& model) {
  std::vector<std::string> paths;
  visit_params(model, [&](const std::string& path, const auto& param) {
    EXPECT_EQ(param.tracked(), !param.is_frozen() && param.device().is_autodiff()) << path;
    if (param.is_frozen()) paths.push_back(path);
  });
  return paths;
}
const std::vector<std::string> kBackbone = {"backbone.first.weight", "backbone.first.bias", "backbone.second.weight",
                                            "backbone.second.bias"};

using Doubles = std::vector<double>;
/// rows [4, in] -> [4, out] as loops, y = x W^T + b.
Doubles linear_loop(const Doubles& x, const Doubles& weight, const Doubles& bias) {
  const std::size_t out = bias.size(), in = weight.size() / out;
  Doubles y(4 * out);
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t o = 0; o < out; ++o) {
      y[r * out + o] = bias[o];
      for (std::size_t i = 0; i < in; ++i) y[r * out + o] += weight[o * in + i] * x[r * in + i];
    }
  return y;
}
Doubles tanh_loop(Doubles x) {
  for (double& element : x) element = std::tanh(element);
  return x;
}
Doubles doubles(const std::vector<float>& floats) { return {floats.begin(), floats.end()}; }

TEST(Freeze, TrainsAHeadOnABackboneThatStaysAsItIs) {
  Net net = freeze(make_net(), "backbone");
  EXPECT_EQ(num_params(net), 3 * 5 + 5 + 5 * 4 + 4 + 4 * 2 + 2);
  EXPECT_EQ(num_trained_params(net), 4 * 2 + 2);
  const auto before = numbers_of(net);
  Sgd sgd = SgdConfig{.momentum = 0.9}.init(net);
  EXPECT_EQ(sgd.states().size(), 2u);
  for (int step = 0; step < 30; ++step) {
    const auto [loss, grads] = value_and_grad(net, squared_error);
    EXPECT_EQ(grads.by_path.size(), 2u);
    net = sgd.step(0.1, std::move(net), grads);
  }
  const auto after = numbers_of(net);
  for (const std::string& path : kBackbone) EXPECT_EQ(after.at(path), before.at(path)) << path;

  // The same head in float64: gradient descent with momentum on fixed features.
  const auto at = [&](const std::string& path) { return doubles(before.at(path)); };
  const Doubles hidden =
      tanh_loop(linear_loop(doubles(kInputs), at("backbone.first.weight"), at("backbone.first.bias")));
  const Doubles features = tanh_loop(linear_loop(hidden, at("backbone.second.weight"), at("backbone.second.bias")));
  Doubles weight = at("head.weight"), bias = at("head.bias"), weight_velocity(8), bias_velocity(2);
  for (int step = 0; step < 30; ++step) {
    const Doubles y = linear_loop(features, weight, bias);
    Doubles weight_grad(8), bias_grad(2);
    for (std::size_t r = 0; r < 4; ++r)
      for (std::size_t o = 0; o < 2; ++o) {
        const double slope = 2 * (y[2 * r + o] - static_cast<double>(kTargets[2 * r + o])) / 8;
        bias_grad[o] += slope;
        for (std::size_t i = 0; i < 4; ++i) weight_grad[4 * o + i] += slope * features[4 * r + i];
      }
    for (std::size_t i = 0; i < 8; ++i)
      weight[i] -= 0.1 * (weight_velocity[i] = 0.9 * weight_velocity[i] + weight_grad[i]);
    for (std::size_t i = 0; i < 2; ++i) bias[i] -= 0.1 * (bias_velocity[i] = 0.9 * bias_velocity[i] + bias_grad[i]);
  }
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(after.at("head.weight")[i], weight[i], 1e-5);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(after.at("head.bias")[i], bias[i], 1e-5);
}

TEST(Freeze, StaysWhereAModelIsMovedMappedLoadedAndStepped) {
  const Net net = freeze(make_net(), "backbone");
  EXPECT_EQ(frozen_in(net), kBackbone);
  EXPECT_EQ(frozen_in(to_device(net, cpu)), kBackbone);
  EXPECT_EQ(frozen_in(to_device(to_device(net, cpu), autodiff)), kBackbone);
  EXPECT_EQ(frozen_in(map_params(net, [](const auto&, const Value& value) { return value * 2; })), kBackbone);
  EXPECT_EQ(frozen_in(valid(net)), kBackbone);
  EXPECT_EQ(frozen_in(AdamConfig{}.init(net).step(0.1, net, value_and_grad(net, squared_error).grads)), kBackbone);

  const std::vector<std::byte> bytes = write_safetensors(record_of(make_net()));
  const Net loaded = from_record(view_safetensors(bytes, "net"),
                                 map_params(net, [](const auto&, const Value& value) { return value * 0; }), "net");
  EXPECT_EQ(frozen_in(loaded), kBackbone);
  EXPECT_EQ(numbers_of(loaded), numbers_of(make_net()));
}

TEST(Freeze, OfAModelOnAPlainDeviceCountsWhenItIsTrained) {
  const Net net = to_device(freeze(make_net(cpu), "head"), autodiff);
  EXPECT_EQ(frozen_in(net), (std::vector<std::string>{"head.weight", "head.bias"}));
  EXPECT_EQ(value_and_grad(net, squared_error).grads.by_path.size(), 4u);
}

TEST(Freeze, IsUndoneForSomeOrAll) {
  const Net net = freeze(make_net());
  EXPECT_EQ(num_trained_params(net), 0);
  EXPECT_EQ(num_trained_params(unfreeze(net, "head.bias")), 2);
  EXPECT_EQ(num_trained_params(unfreeze(net)), num_params(net));
  EXPECT_EQ(numbers_of(unfreeze(net)), numbers_of(make_net()));
}

TEST(Freeze, IsSeenInTheSummary) {
  const std::string all = summary(freeze(make_net(), "backbone.first.weight"));
  EXPECT_NE(all.find("    first: Linear, 20 parameters\n      weight [5, 3] frozen\n      bias [5]\n"),
            std::string::npos)
      << all;
  EXPECT_EQ(summary(make_net(), {.depth = 1, .indentation = 1, .tensors = false}),
            "Net, 54 parameters\n backbone: Backbone, 44 parameters\n head: Linear, 10 parameters\n");
}

TEST(Freeze, OfAParameterIsAsked) {
  nn::Param<1> p(ones({3}, autodiff));
  p = p.with_frozen(true);
  EXPECT_TRUE(p.is_frozen());
  EXPECT_FALSE(p.tracked());
  p = p.with_value(zeros({3}, autodiff));
  EXPECT_TRUE(p.is_frozen());
  EXPECT_EQ(p.to_vector(), (std::vector<float>{0, 0, 0}));
  p = p.with_frozen(false);
  EXPECT_TRUE(p.tracked());
  EXPECT_TRUE(nn::Param<1>().with_frozen(true).empty());
}

TEST(Freeze, LetsAnOptimizerBeginWithWhatIsUnfrozenLater) {
  Net net = freeze(make_net(), "backbone");
  Adam adam = AdamConfig{}.init(net);
  for (int step = 0; step < 2; ++step) net = adam.step(0.1, std::move(net), value_and_grad(net, squared_error).grads);
  net = unfreeze(std::move(net), "backbone.second");
  const auto before = numbers_of(net);
  net = adam.step(0.1, std::move(net), value_and_grad(net, squared_error).grads);
  EXPECT_EQ(adam.states().size(), 4u);
  EXPECT_EQ(adam.states().at("head.bias").steps, 3);
  EXPECT_EQ(adam.states().at("backbone.second.bias").steps, 1);
  // Adam's first step is the rate, whatever the gradient.
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(std::abs(numbers_of(net).at("backbone.second.bias")[i] - before.at("backbone.second.bias")[i]), 0.1,
                1e-3);
}

TEST(Freeze, KeepsAnOptimizerFromWhatItHasAGradientFor) {
  const Net net = make_net();
  const GradientsParams grads = value_and_grad(net, squared_error).grads;
  const Net frozen = freeze(net, "backbone");
  const Net after = SgdConfig{}.init(frozen).step(0.1, frozen, grads);
  EXPECT_EQ(numbers_of(after).at("backbone.first.weight"), numbers_of(net).at("backbone.first.weight"));
  EXPECT_NE(numbers_of(after).at("head.weight"), numbers_of(net).at("head.weight"));
}

TEST(Freeze, LetsGradientsPassToWhatComesBefore) {
  const Net net = freeze(make_net(), "head");
  const auto frozen = value_and_grad(net, squared_error).grads, all = value_and_grad(make_net(), squared_error).grads;
  ASSERT_EQ(frozen.by_path.size(), 4u);
  for (const auto& [path, grad] : frozen.by_path)
    EXPECT_EQ(difference(grad.data(), all.find(path)->data(), {1e-6, 1e-7}), "") << path;
}

struct Tied {
  nn::Embedding embedding;
  nn::Linear output;
};

TEST(Freeze, OfATiedParameterGoesByAnyOfItsPlaces) {
  Tied model{nn::EmbeddingConfig{.count = 5, .size = 3}.init(autodiff),
             nn::LinearConfig{.in = 3, .out = 5}.init(autodiff)};
  model.output.weight = model.embedding.weight;
  for (const char* const by : {"embedding", "output.weight"}) {
    const Tied frozen = freeze(model, by);
    EXPECT_EQ(frozen_in(frozen), std::vector<std::string>{"embedding.weight"}) << by;
    EXPECT_TRUE(frozen.output.weight.is_frozen());
    EXPECT_EQ(frozen.output.weight.identity(), frozen.embedding.weight.identity());
  }
  EXPECT_EQ(frozen_in(freeze(model, !Selector("output") || "output.bias")), std::vector<std::string>{"output.bias"});
}

TEST(Freeze, SaysWhatIsWrong) {
  const Net net = make_net();
  EXPECT_EQ(sentence_of([&] { freeze(net, "backbon"); }),
            "ArgumentError: freeze: 'backbon' selects none of the model's parameters (did you mean 'backbone'?)");
  EXPECT_EQ(sentence_of([&] { freeze(net, !Selector("backbon")); }),
            "ArgumentError: freeze: 'backbon' selects none of the model's parameters (did you mean 'backbone'?)");
  // Each path in a selector is meant, also where the other parts select something.
  for (const Selector& selector :
       {Selector("head") || "backbon", !(Selector("head") || "backbon"), Selector::rank(2) && !Selector("backbon")})
    EXPECT_EQ(sentence_of([&] { freeze(net, selector); }),
              "ArgumentError: freeze: 'backbon' selects none of the model's parameters (did you mean 'backbone'?)");
  EXPECT_FALSE(frozen_in(freeze(net, !Selector("backbon*"))).empty());
  EXPECT_FALSE(frozen_in(freeze(net, !Selector("none.*"))).empty());
  EXPECT_EQ(sentence_of([&] { unfreeze(net, Selector::type("Conv") && "head"); }),
            "ArgumentError: unfreeze: (type Conv && 'head') selects none of the model's parameters");
  EXPECT_EQ(sentence_of([&] { value_and_grad(freeze(net), squared_error); }),
            "AutodiffError: value_and_grad: all parameters of the model are frozen: unfreeze(model) makes one that is "
            "trained");
  EXPECT_EQ(sentence_of([&] { SgdConfig{}.init(freeze(net)); }),
            "AutodiffError: Sgd: all parameters of the model are frozen: unfreeze(model) makes one that is trained");
  EXPECT_EQ(frozen_in(freeze(net, Selector::none())), std::vector<std::string>{});
}

}  // namespace
}  // namespace kiln
