// What can be done with any plain struct of modules: visiting, replacing, counting, moving, switching, printing.
#include <algorithm>
#include <cmath>

#include "kiln/nn/module.hpp"

#include <gtest/gtest.h>

#include "kiln/nn.hpp"
#include "kiln/tensor/capture.hpp"
#include "kiln/tensor/text/print.hpp"

#include "sines.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/forwarding.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::cpu;

nn::Linear linear(std::int64_t in, std::int64_t out, const Device& device = cpu) {
  return nn::LinearConfig{.in = in, .out = out}.init(device);
}

enum class Head { Small, Large };

struct Nested {
  nn::Linear input;
  std::vector<nn::Sequential<nn::Linear, nn::Gelu>> blocks;
  std::optional<nn::LayerNorm> norm, no_norm;
  std::variant<nn::Linear, nn::Embedding> head;
  std::tuple<nn::Dropout, nn::Linear> tail;
  std::array<nn::Param<1>, 2> gains;
  Tensor<1> offsets;  // a constant
  double epsilon = 0.5;
  Head kind = Head::Small;
};

Nested make_nested(const Device& device = cpu) {
  return {
      .input = linear(2, 3, device),
      .blocks = {nn::Sequential(linear(3, 3, device), nn::Gelu{}), nn::Sequential(linear(3, 1, device), nn::Gelu{})},
      .norm = nn::LayerNormConfig{.size = 3}.init(device),
      .no_norm = {},
      .head = nn::EmbeddingConfig{.count = 4, .size = 2}.init(device),
      .tail = {nn::Dropout{}, linear(1, 1, device)},
      .gains = {nn::Param<1>(ones({2}, device)), nn::Param<1>()},
      .offsets = Tensor<1>::of({7, 8}, device)};
}

std::vector<std::string> paths_of(const Nested& model) {
  std::vector<std::string> paths;
  visit_params(model, [&](const std::string& path, const auto&) { paths.push_back(path); });
  return paths;
}

TEST(Module, NamesParametersByDottedPathsInOrderOfDeclaration) {
  EXPECT_EQ(paths_of(make_nested()),
            (std::vector<std::string>{"input.weight", "input.bias", "blocks.0.0.weight", "blocks.0.0.bias",
                                      "blocks.1.0.weight", "blocks.1.0.bias", "norm.weight", "norm.bias", "head.weight",
                                      "tail.1.weight", "tail.1.bias", "gains.0"}));
}

TEST(Module, VisitsTheAlternativeThatAVariantHolds) {
  Nested model = make_nested();
  model.head = linear(1, 1);
  const auto paths = paths_of(model);
  EXPECT_NE(std::find(paths.begin(), paths.end(), "head.bias"), paths.end());
}

TEST(Module, CountsElementsOfItsParameters) {
  EXPECT_EQ(num_params(make_nested()), (2 * 3 + 3) + (9 + 3) + (3 + 1) + (3 + 3) + 4 * 2 + (1 + 1) + 2);
  EXPECT_EQ(num_params(nn::BatchNormConfig{.channels = 5}.init(cpu)), 10);  // running statistics are none
}

TEST(Module, MapsParametersToNewOnesWithTheirRanks) {
  const Nested model = make_nested();
  const Nested doubled = map_params(
      model, [](const std::string& path, const Value& value) { return path == "norm.weight" ? value * 2 : value; });
  EXPECT_EQ(doubled.norm->weight.to_vector(), (std::vector<float>{2, 2, 2}));
  EXPECT_EQ(model.norm->weight.to_vector(), (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(doubled.input.weight.to_vector(), model.input.weight.to_vector());
  EXPECT_THROW(map_params(model, [](const auto&, const Value& v) { return unsqueeze(v, 0); }), ShapeError);
}

/// A device on which the newest values have not arrived yet; a value is its number.
class Lagging final : public test::Forwarding {
 public:
  State state(const Value& value) const override {
    return value.data().to_vector<float>()[0] + 3 > static_cast<float>(newest) ? State::Waiting : State::Arrived;
  }
  int newest = 0;
};

TEST(Buffer, KeepsNoMoreValuesThanHaveNotArrived) {
  const auto backend = make_ref<Lagging>();
  const Device device(backend);
  constexpr std::int64_t kCount = 100'000;
  nn::Buffer<1> buffer(Tensor<1>::full({kCount}, 0, device));
  const std::int64_t before = device.memory().in_use;
  for (int i = 1; i <= 50; ++i) {
    backend->newest = i;
    const auto next = Tensor<1>::full({kCount}, i, device);
    (void)next.value().data();
    buffer.set(next);
  }
  EXPECT_EQ(buffer.get().to_vector<float>()[0], 50);
  EXPECT_LE(device.memory().in_use - before, 6 * 4 * kCount);
}

TEST(Module, VisitsBuffersApartFromParameters) {
  std::vector<std::string> paths;
  visit_buffers(nn::Sequential(nn::BatchNormConfig{.channels = 2}.init(cpu)),
                [&](const std::string& path, const auto&) { paths.push_back(path); });
  EXPECT_EQ(paths, (std::vector<std::string>{"0.running_mean", "0.running_var"}));
}

TEST(Module, ParametersAreTrackedOnAutodiffDevicesAlone) {
  visit_params(make_nested(cpu),
               [](const std::string& path, const auto& param) { EXPECT_FALSE(param.tracked()) << path; });
  visit_params(make_nested(cpu.autodiff()),
               [](const std::string& path, const auto& param) { EXPECT_TRUE(param.tracked()) << path; });
}

TEST(Module, MovesBetweenADeviceAndItsAutodiffForm) {
  const Nested model = make_nested(cpu.autodiff());
  const Nested plain = to_device(model, cpu);
  visit_params(plain, [](const std::string& path, const auto& param) { EXPECT_FALSE(param.tracked()) << path; });
  EXPECT_FALSE(plain.offsets.device().is_autodiff());
  EXPECT_EQ(plain.input.weight.to_vector(), model.input.weight.to_vector());
  visit_params(to_device(plain, cpu.autodiff()),
               [](const std::string& path, const auto& param) { EXPECT_TRUE(param.tracked()) << path; });
}

TEST(Module, SwitchesEveryModeInIt) {
  const Nested model = make_nested();
  EXPECT_EQ(std::get<0>(valid(model).tail).mode, nn::Mode::Valid);
  EXPECT_EQ(std::get<0>(train(valid(model)).tail).mode, nn::Mode::Train);
  EXPECT_EQ(valid(nn::BatchNormConfig{.channels = 1}.init(cpu)).mode, nn::Mode::Valid);
}

TEST(Module, PrintsParametersAsTensors) {
  const nn::Param<1> bias(Tensor<1>::of({1, 2.25}, cpu));
  EXPECT_EQ(fmt::format("{} {:.1}", bias, bias), fmt::format("{} {:.1}", bias.value(), bias.value()));
  EXPECT_EQ(fmt::format("{}", bias), "[1.   2.25]");
}

TEST(Module, PrintsAsATree) {
  EXPECT_EQ(summary(make_nested()),
            "Nested, 43 parameters, epsilon 0.5, kind Small\n"
            "  input: Linear, 9 parameters\n"
            "    weight [3, 2]\n"
            "    bias [3]\n"
            "  blocks, 16 parameters\n"
            "    0: Sequential, 12 parameters\n"
            "      0: Linear, 12 parameters\n"
            "        weight [3, 3]\n"
            "        bias [3]\n"
            "      1: Gelu, approximate false\n"
            "    1: Sequential, 4 parameters\n"
            "      0: Linear, 4 parameters\n"
            "        weight [1, 3]\n"
            "        bias [1]\n"
            "      1: Gelu, approximate false\n"
            "  norm: LayerNorm, 6 parameters, epsilon 1e-05\n"
            "    weight [3]\n"
            "    bias [3]\n"
            "  head: Embedding, 8 parameters\n"
            "    weight [4, 2]\n"
            "  tail, 2 parameters\n"
            "    0: Dropout, probability 0.5, mode train\n"
            "    1: Linear, 2 parameters\n"
            "      weight [1, 1]\n"
            "      bias [1]\n"
            "  gains, 2 parameters\n"
            "    0 [2]\n"
            "  offsets [2] constant\n");
  EXPECT_EQ(summary(nn::BatchNormConfig{.channels = 2}.init(cpu)),
            "BatchNorm, 4 parameters, momentum 0.1, epsilon 1e-05, mode train\n"
            "  weight [2]\n"
            "  bias [2]\n"
            "  running_mean [2] buffer\n"
            "  running_var [2] buffer\n");
}

TEST(Initializers, DrawTheSameWeightsForTheSameSeed) {
  const Device device = Device::cpu();
  const auto weights = [&](std::uint64_t seed) {
    device.seed(seed);
    return linear(20, 30, device).weight.to_vector();
  };
  EXPECT_EQ(weights(1), weights(1));
  EXPECT_NE(weights(1), weights(2));
}

struct Moments {
  double mean = 0, deviation = 0, largest = 0;
};
Moments moments(const nn::Initializer& initializer, const nn::Fans& fans) {
  Moments result;
  const auto values = nn::initialize(initializer, {200, 100}, fans, cpu).data().to_vector<double>();
  for (const double v : values) {
    result.mean += v / 2e4;
    result.deviation += v * v / 2e4;
    result.largest = std::max(result.largest, std::abs(v));
  }
  result.deviation = std::sqrt(result.deviation - result.mean * result.mean);
  return result;
}

TEST(Initializers, HaveTheSpreadThatTheirPapersGive) {
  const nn::Fans fans{.in = 50, .out = 8};
  // A uniform distribution on [-b, b] has a standard deviation of b / sqrt(3); 20,000 draws find it within 2 %.
  const auto uniform = [&](const nn::Initializer& initializer, double bound) {
    const Moments m = moments(initializer, fans);
    EXPECT_LE(m.largest, bound);
    EXPECT_GT(m.largest, 0.99 * bound);
    EXPECT_NEAR(m.deviation, bound / std::sqrt(3), 0.02 * bound);
    EXPECT_NEAR(m.mean, 0, 0.03 * bound);
  };
  const auto normal = [&](const nn::Initializer& initializer, double deviation) {
    EXPECT_NEAR(moments(initializer, fans).deviation, deviation, 0.03 * deviation);
  };
  uniform(nn::init::KaimingUniform{}, std::sqrt(6.0 / 50));
  uniform(nn::init::KaimingUniform{.fan_out = true}, std::sqrt(6.0 / 8));
  uniform(nn::kLayerDefault, 1 / std::sqrt(50.0));
  uniform(nn::init::XavierUniform{.gain = 2}, 2 * std::sqrt(6.0 / 58));
  uniform(nn::init::Uniform{.low = -3, .high = 3}, 3);
  normal(nn::init::KaimingNormal{}, std::sqrt(2.0 / 50));
  normal(nn::init::XavierNormal{}, std::sqrt(2.0 / 58));
  normal(nn::init::Normal{.mean = 5, .deviation = 0.5}, 0.5);
  EXPECT_NEAR(moments(nn::init::Normal{.mean = 5, .deviation = 0.5}, fans).mean, 5, 0.02);
  EXPECT_NEAR(moments(nn::init::Constant{.value = 1.5}, fans).mean, 1.5, 1e-9);
  EXPECT_EQ(moments(nn::init::Zeros{}, fans).largest, 0);
  EXPECT_NEAR(moments(nn::init::Ones{}, fans).mean, 1, 1e-9);
}

TEST(Initializers, CountFansOfConvolutionsByTheirWindow) {
  EXPECT_EQ(nn::fans_of({16, 8, 3, 5}).in, 8 * 15);
  EXPECT_EQ(nn::fans_of({16, 8, 3, 5}).out, 16 * 15);
  EXPECT_THROW(nn::fans_of({16}), ShapeError);
}

TEST(Layers, SayWhatIsWrong) {
  using namespace nn;
  EXPECT_EQ(sentence_of([] { LinearConfig{.in = 0, .out = 2}.init(cpu); }),
            "ArgumentError: LinearConfig: in = 0 and out = 2 must be positive");
  EXPECT_EQ(sentence_of([] { linear(3, 2).forward(sines_of<2>({4, 5})); }),
            "ShapeError: linear: the last dimension of [4, 5] is not the layer's input size, 3");
  EXPECT_EQ(sentence_of([] { Conv2dConfig{.in = 1, .out = 1}.init(cpu); }),
            "ArgumentError: Conv2dConfig: the kernel's size is missing");
  EXPECT_EQ(sentence_of([] { Conv3dConfig{.in = 1, .out = 1, .kernel = {3, 3}}.init(cpu); }),
            "ArgumentError: Conv3dConfig: kernel [3, 3] needs 3 entries, or one for all");
  EXPECT_EQ(sentence_of([] { Conv2dConfig{.in = 1, .out = 1, .kernel = {0}}.init(cpu); }),
            "ArgumentError: Conv2dConfig: kernel [0, 0] must be positive");
  EXPECT_EQ(sentence_of([] { Conv1dConfig{.in = 3, .out = 4, .kernel = {1}, .groups = 2}.init(cpu); }),
            "ArgumentError: Conv1dConfig: 2 groups do not divide 3 and 4 channels");
  EXPECT_EQ(sentence_of([] { Conv1dConfig{.in = 1, .out = 1, .kernel = {1}, .padding = {-1}}.init(cpu); }),
            "ArgumentError: Conv1dConfig: padding [-1] must not be negative");
  EXPECT_EQ(sentence_of([] { Conv1dConfig{.in = 0, .out = 1, .kernel = {1}}.init(cpu); }),
            "ArgumentError: Conv1dConfig: in = 0 and out = 1 must be positive");
  EXPECT_EQ(sentence_of([] { MaxPool2d{}.forward(sines_of<4>({1, 1, 2, 2})); }),
            "ArgumentError: MaxPool2d: the kernel's size is missing");
  EXPECT_EQ(sentence_of([] { BatchNormConfig{.channels = 0}.init(cpu); }),
            "ArgumentError: BatchNormConfig: channels = 0 must be positive");
  EXPECT_EQ(sentence_of([] { BatchNormConfig{.channels = 3}.init(cpu).forward(sines_of<2>({4, 2})); }),
            "ShapeError: BatchNorm: dimension 1 of [4, 2] is not the layer's 3 channels");
  EXPECT_EQ(sentence_of([] { BatchNormConfig{.channels = 2}.init(cpu).forward(sines_of<2>({1, 2})); }),
            "ShapeError: batch_norm: training needs two elements or more per channel, [1, 2] has 1");
  EXPECT_EQ(sentence_of([] { LayerNormConfig{.size = 0}.init(cpu); }),
            "ArgumentError: LayerNormConfig: size = 0 must be positive");
  EXPECT_EQ(sentence_of([] { EmbeddingConfig{.count = 1, .size = 0}.init(cpu); }),
            "ArgumentError: EmbeddingConfig: count = 1 and size = 0 must be positive");
  EXPECT_EQ(sentence_of([] { MultiHeadAttentionConfig{.width = 6, .heads = 4}.init(cpu); }),
            "ArgumentError: MultiHeadAttentionConfig: 4 heads do not divide a width of 6");
  EXPECT_EQ(sentence_of([] { Dropout{.probability = 2}.forward(sines_of<1>({2})); }),
            "ArgumentError: dropout: a probability of 2 is not between 0 and 1");
}

// The running statistics of a norm that is captured in training have no numbers.
TEST(BatchNorm, StaysAsItIsInACapture) {
  const Device device = Device::cpu().autodiff();
  const nn::BatchNorm norm = nn::BatchNormConfig{.channels = 2}.init(device);
  const auto x = Tensor<2>::of({{1, 4}, {3, -2}}, device);
  (void)norm.forward(x);
  const std::vector<float> mean = norm.running_mean.get().to_vector(), variance = norm.running_var.get().to_vector();
  const auto program = capture([&](const Tensor<2>& v) { return norm.forward(v); }, x);
  EXPECT_EQ(norm.running_mean.get().to_vector(), mean);
  EXPECT_EQ(norm.running_var.get().to_vector(), variance);
  EXPECT_EQ(program(x).to_vector(), norm.forward(x).to_vector());
  EXPECT_NE(norm.running_mean.get().to_vector(), mean);  // outside of a capture it learns
  (void)valid(norm).forward(x).to_vector();
}

}  // namespace
}  // namespace kiln
