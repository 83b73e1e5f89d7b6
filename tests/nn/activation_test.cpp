// Activations against <cmath> in float64, as modules and as what a config chooses.
#include "kiln/nn/activation/choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kiln/core/config/config.hpp"
#include "kiln/nn/module.hpp"
#include "kiln/nn/sequential.hpp"

#include "differences.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using nn::Activation;

using test::autodiff, test::cpu;

struct Textbook {
  const char* name;
  Activation activation;
  double (*meaning)(double);
};
Tensor<1> full_of(double number) { return Tensor<1>(full({2000}, number, cpu, DType::F64)); }
double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
double elu_of(double x, double alpha) { return x > 0 ? x : alpha * (std::exp(x) - 1); }

const Textbook kTextbook[] = {
    {"Relu", nn::Relu{}, [](double x) { return std::max(x, 0.0); }},
    {"Relu6", nn::Relu6{}, [](double x) { return std::min(std::max(x, 0.0), 6.0); }},
    {"SquaredRelu", nn::SquaredRelu{}, [](double x) { return x > 0 ? x * x : 0; }},
    {"LeakyRelu", nn::LeakyRelu{}, [](double x) { return x > 0 ? x : 0.01 * x; }},
    {"LeakyRelu 0.3", nn::LeakyRelu{.slope = 0.3}, [](double x) { return x > 0 ? x : 0.3 * x; }},
    {"ThresholdedRelu", nn::ThresholdedRelu{}, [](double x) { return x > 1 ? x : 0; }},
    {"Threshold", nn::Threshold{.limit = 0.7, .substitute = 9}, [](double x) { return x > 0.7 ? x : 9; }},
    {"Elu", nn::Elu{.alpha = 1.3}, [](double x) { return elu_of(x, 1.3); }},
    {"Celu", nn::Celu{.alpha = 1.3}, [](double x) { return x > 0 ? x : 1.3 * (std::exp(x / 1.3) - 1); }},
    {"Selu", nn::Selu{}, [](double x) { return 1.0507009873554805 * elu_of(x, 1.6732632423543772); }},
    {"Gelu", nn::Gelu{}, [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }},
    {"Gelu approximate", nn::Gelu{.approximate = true},
     [](double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x))); }},
    {"QuickGelu", nn::QuickGelu{}, [](double x) { return x * sigmoid_of(1.702 * x); }},
    {"Silu", nn::Silu{}, [](double x) { return x * sigmoid_of(x); }},
    {"Mish", nn::Mish{}, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
    {"Softplus", nn::Softplus{.beta = 2}, [](double x) { return std::log1p(std::exp(2 * x)) / 2; }},
    {"Softplus limit", nn::Softplus{.limit = 1}, [](double x) { return x > 1 ? x : std::log1p(std::exp(x)); }},
    {"Sigmoid", nn::Sigmoid{}, sigmoid_of},
    {"LogSigmoid", nn::LogSigmoid{}, [](double x) { return std::log(sigmoid_of(x)); }},
    {"HardSigmoid", nn::HardSigmoid{}, [](double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
    {"HardSigmoid 0.2", nn::HardSigmoid{.scale = 0.2, .offset = 0.4},
     [](double x) { return std::clamp(0.2 * x + 0.4, 0.0, 1.0); }},
    {"HardSwish", nn::HardSwish{}, [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
    {"Tanh", nn::Tanh{}, [](double x) { return std::tanh(x); }},
    {"Hardtanh", nn::Hardtanh{.low = -0.5, .high = 2}, [](double x) { return std::clamp(x, -0.5, 2.0); }},
    {"Softsign", nn::Softsign{}, [](double x) { return x / (1 + std::abs(x)); }},
    {"Tanhshrink", nn::Tanhshrink{}, [](double x) { return x - std::tanh(x); }},
    {"HardShrink", nn::HardShrink{}, [](double x) { return std::abs(x) > 0.5 ? x : 0; }},
    {"SoftShrink", nn::SoftShrink{}, [](double x) { return std::abs(x) > 0.5 ? x - std::copysign(0.5, x) : 0; }},
    {"Shrink", nn::Shrink{.bound = 1, .bias = 0.25},
     [](double x) { return std::abs(x) > 1 ? x - std::copysign(0.25, x) : 0; }},
    {"PRelu", nn::PReluConfig{.start = 0.2}.init(cpu), [](double x) { return x > 0 ? x : 0.2 * x; }},
    {"RRelu", nn::RRelu{.mode = nn::Mode::Valid}, [](double x) { return x > 0 ? x : (1.0 / 8 + 1.0 / 3) / 2 * x; }},
    {"Identity", nn::Identity{}, [](double x) { return x; }},
};

TEST(Activation, IsTheFunctionOfItsName) {
  const Value x = arange(-4, 8, 0.37, cpu, DType::F64);
  const auto at = x.data().to_vector<double>();
  for (const Textbook& row : kTextbook) {
    const auto y = row.activation.forward(Tensor<1>(x)).to_vector<double>();
    for (std::size_t i = 0; i < at.size(); ++i)
      EXPECT_NEAR(y[i], row.meaning(at[i]), 1e-7) << row.name << " of " << at[i];
    EXPECT_EQ(row.activation.forward(Tensor<3>(reshape(x, {1, 3, 11}))).shape(), (Shape{1, 3, 11})) << row.name;
  }
}

TEST(Activation, OfSeveralElementsGoAlongTheirDimension) {
  const auto x = Tensor<2>(sines({3, 4}, 0.9, 0.2, cpu, DType::F64));
  const auto in = x.to_vector<double>();
  const auto softmax = nn::Softmax{.dim = 0}.forward(x).to_vector<double>();
  const auto quiet = nn::QuietSoftmax{.dim = 0}.forward(x).to_vector<double>();
  const auto logs = nn::LogSoftmax{.dim = 0}.forward(x).to_vector<double>();
  const auto softmin = nn::Softmin{.dim = 0}.forward(x).to_vector<double>();
  for (std::size_t i = 0; i < 12; ++i) {
    double total = 0, least = 0;
    for (std::size_t row = 0; row < 3; ++row) {
      total += std::exp(in[row * 4 + i % 4]);
      least += std::exp(-in[row * 4 + i % 4]);
    }
    EXPECT_NEAR(softmax[i], std::exp(in[i]) / total, 1e-12);
    EXPECT_NEAR(quiet[i], std::exp(in[i]) / (1 + total), 1e-12);
    EXPECT_NEAR(logs[i], in[i] - std::log(total), 1e-12);
    EXPECT_NEAR(softmin[i], std::exp(-in[i]) / least, 1e-12);
  }
  const auto gated = nn::Glu{}.forward(x);
  EXPECT_EQ(gated.shape(), (Shape{3, 2}));
  EXPECT_NEAR(gated.to_vector<double>()[2], in[4] * sigmoid_of(in[6]), 1e-12);
}

TEST(PRelu, LearnsAWeightForEachChannel) {
  nn::PRelu layer = nn::PReluConfig{.count = 2}.init(autodiff);
  layer.weight = nn::Param<1>(Tensor<1>::of({0.5, -2}, autodiff));
  expect_values(layer.forward(Tensor<3>(reshape(arange(-3, 1, 1, autodiff, DType::F32), {1, 2, 2}))), {1, 2, 2},
                {-1.5, -1, 2, 0});
  expect_right_gradients(layer, [](const nn::PRelu& m) { return weighted(m.forward(input<3>({2, 2, 3}))); });
  EXPECT_EQ(sentence_of([] { nn::PReluConfig{.count = 0}.init(cpu); }),
            "ArgumentError: PReluConfig: count = 0 must be positive");
}

TEST(RRelu, DrawsASlopeForEachElementWhileItIsTrained) {
  cpu.seed(1);
  const nn::RRelu layer{.low = 0.2, .high = 0.4};
  const auto y = layer.forward(full_of(-1.0)).to_vector<double>();
  double sum = 0;
  for (const double slope : y) {
    EXPECT_LE(-slope, 0.4);
    EXPECT_GE(-slope, 0.2);
    sum -= slope;
  }
  EXPECT_NEAR(sum / static_cast<double>(y.size()), 0.3, 0.005);
  EXPECT_NE(y[0], y[1]);
  EXPECT_EQ(layer.forward(full_of(2.0)).to_vector<double>()[5], 2);
  EXPECT_NEAR(valid(layer).forward(full_of(-1.0)).to_vector<double>()[5], -0.3, 1e-12);
  EXPECT_EQ(sentence_of([] { return nn::RRelu{.low = 1, .high = 0}.forward(full_of(1.0)); }),
            "ArgumentError: RRelu: low = 1 is above high = 0");
}

TEST(SwiGlu, IsAGatedProjection) {
  const nn::SwiGlu layer = nn::SwiGluConfig{.in = 3, .out = 2, .bias = true}.init(autodiff);
  const auto x = sines_of<2>({2, 3});
  const auto gate = layer.gate.forward(x).to_vector(), value = layer.value.forward(x).to_vector();
  const auto y = layer.forward(x).to_vector();
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], gate[i] * sigmoid_of(gate[i]) * value[i], 1e-6);
  expect_right_gradients(layer, [](const nn::SwiGlu& m) { return weighted(m.forward(input<2>({2, 3}))); });
}

TEST(Activation, TakesItsPlaceInAModel) {
  using Layers = nn::Sequential<nn::Linear, Activation>;
  const Layers layers(nn::LinearConfig{.in = 2, .out = 2}.init(autodiff), nn::PReluConfig{}.init(autodiff));
  std::string paths;
  visit_params(layers, [&](const std::string& path, const auto&) { paths += path + ' '; });
  EXPECT_EQ(paths, "0.weight 0.bias 1.weight ");
  expect_right_gradients(layers, [](const Layers& m) { return weighted(m.forward(input<2>({3, 2}))); });
  const Activation random = nn::RRelu{};
  EXPECT_EQ(valid(random).get<nn::RRelu>()->mode, nn::Mode::Valid);
  EXPECT_EQ(random.get<nn::Relu>(), nullptr);
}

struct Options {
  nn::ActivationConfig activation = nn::Gelu{};
};

TEST(Activation, IsNamedByAConfig) {
  const auto chosen = [](std::string_view json) {
    return Activation::from(from_json<Options>(json, "net.json").activation, cpu);
  };
  EXPECT_FALSE(chosen("{}").get<nn::Gelu>()->approximate);
  EXPECT_NE(chosen(R"({"activation": "Mish"})").get<nn::Mish>(), nullptr);
  EXPECT_TRUE(chosen(R"({"activation": {"Gelu": {"approximate": true}}})").get<nn::Gelu>()->approximate);
  EXPECT_EQ(chosen(R"({"activation": {"Softmax": {"dim": 1}}})").get<nn::Softmax>()->dim, 1);
  EXPECT_EQ(chosen(R"({"activation": {"PRelu": {"count": 3}}})").get<nn::PRelu>()->weight.shape(), (Shape{3}));
  EXPECT_EQ(chosen(R"({"activation": {"SwiGlu": {"in": 3, "out": 2}}})").get<nn::SwiGlu>()->gate.weight.shape(),
            (Shape{2, 3}));

  const auto round = [](const nn::ActivationConfig& config) {
    return to_json(from_json<Options>(to_json(Options{config}), "net.json"));
  };
  for (const nn::ActivationConfig& config : {nn::ActivationConfig(nn::Relu{}), nn::ActivationConfig(nn::LeakyRelu{0.3}),
                                             nn::ActivationConfig(nn::SwiGluConfig{.in = 2, .out = 4})})
    EXPECT_EQ(write_json(round(config)), write_json(to_json(Options{config})));
}

TEST(Activation, SaysWhatAConfigMayName) {
  const auto wrong = [](std::string_view json) {
    return sentence_of([&] { return from_json<Options>(json, "net.json"); });
  };
  const std::string unknown = wrong(R"({"activation": "Gelo"})");
  EXPECT_TRUE(unknown.starts_with("ConfigError: net.json: 'activation' must be one of \"Relu\", \"Relu6\"")) << unknown;
  EXPECT_TRUE(unknown.ends_with("got \"Gelo\" (did you mean 'Gelu'?)")) << unknown;
  EXPECT_EQ(wrong(R"({"activation": {"Gelu": {"aproximate": true}}})"),
            "ConfigError: net.json: unknown key 'activation.Gelu.aproximate' (did you mean 'approximate'?)");
  EXPECT_EQ(wrong(R"({"activation": "SwiGlu"})"), "ConfigError: net.json: 'activation.SwiGlu.in' is missing");
  EXPECT_TRUE(wrong(R"({"activation": {"Relu": {}, "Gelu": {}}})")
                  .ends_with("or an object with one of them for its key, got an object"));
  EXPECT_EQ(wrong(R"({"activation": {"Softmax": {"dim": true}}})"),
            "ConfigError: net.json: 'activation.Softmax.dim' must be an integer, got true");
}

}  // namespace
}  // namespace kiln
