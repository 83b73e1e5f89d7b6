// Normalisations as modules against loops in float64.
#include "kiln/nn/norm/norm.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kiln/core/config/config.hpp"
#include "kiln/nn/module.hpp"
#include "kiln/nn/regularization/dropout.hpp"
#include "kiln/nn/sequential.hpp"

#include "differences.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::autodiff, test::cpu;

/// Runs of `size` numbers less their mean (if centred) and divided by their deviation; then element i times weight(i) plus
/// bias(i).
std::vector<double> normalised(const Value& x, std::size_t size, double epsilon, bool centred, auto weight, auto bias) {
  std::vector<double> y = x.data().to(DType::F64).to_vector<double>();
  for (std::size_t start = 0; start < y.size(); start += size) {
    double mean = 0, square = 0;
    for (std::size_t i = 0; i < size; ++i) mean += y[start + i] / static_cast<double>(size);
    if (!centred) mean = 0;
    for (std::size_t i = 0; i < size; ++i) square += std::pow(y[start + i] - mean, 2) / static_cast<double>(size);
    for (std::size_t i = start; i < start + size; ++i)
      y[i] = (y[i] - mean) / std::sqrt(square + epsilon) * weight(i) + bias(i);
  }
  return y;
}

void expect_near(const auto& actual, const std::vector<double>& right) {
  const auto found = actual.template to_vector<double>();
  ASSERT_EQ(found.size(), right.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], right[i], 1e-5) << "element " << i;
}

/// The module with weight and bias that differ from element to element.
template <class Norm>
Norm scaled(Norm norm) {
  return map_params(std::move(norm), [](const std::string& path, const Value& value) {
    return sines(value.shape(), 0.7, path == "weight" ? 1 : 2, value.device());
  });
}
double weight_of(std::size_t channel) { return std::sin(0.7 * static_cast<double>(channel) + 1); }
double bias_of(std::size_t channel) { return std::sin(0.7 * static_cast<double>(channel) + 2); }

TEST(GroupNorm, NormalisesRunsOfChannels) {
  const nn::GroupNorm norm = scaled(nn::GroupNormConfig{.groups = 2, .channels = 4, .epsilon = 0.1}.init(cpu));
  const auto x = sines_of<4>({2, 4, 2, 3});
  const auto channel = [](std::size_t i) { return i / 6 % 4; };
  expect_near(norm.forward(x), normalised(
                                   x.value(), 12, 0.1, true, [&](std::size_t i) { return weight_of(channel(i)); },
                                   [&](std::size_t i) { return bias_of(channel(i)); }));
  const auto plain = [](double number) { return [number](std::size_t) { return number; }; };
  const nn::GroupNorm bare = nn::GroupNormConfig{.groups = 4, .channels = 4, .affine = false}.init(cpu);
  EXPECT_EQ(num_params(bare), 0);
  expect_near(bare.forward(x), normalised(x.value(), 6, 1e-5, true, plain(1), plain(0)));
}

TEST(InstanceNorm, NormalisesEachChannelByItself) {
  const nn::InstanceNorm norm = scaled(nn::InstanceNormConfig{.channels = 3}.init(cpu));
  const auto x = sines_of<3>({2, 3, 5});
  const auto channel = [](std::size_t i) { return i / 5 % 3; };
  expect_near(norm.forward(x), normalised(
                                   x.value(), 5, 1e-5, true, [&](std::size_t i) { return weight_of(channel(i)); },
                                   [&](std::size_t i) { return bias_of(channel(i)); }));
}

TEST(RmsNorm, DividesByTheRootOfTheMeanSquare) {
  const nn::RmsNorm norm = scaled(nn::RmsNormConfig{.size = 4, .epsilon = 0.01}.init(cpu));
  const auto x = sines_of<3>({2, 3, 4});
  expect_near(norm.forward(x), normalised(
                                   x.value(), 4, 0.01, false, [](std::size_t i) { return weight_of(i % 4); },
                                   [](std::size_t) { return 0.0; }));
}

TEST(LayerNorm, MayLackItsBiasOrBoth) {
  const auto x = sines_of<2>({3, 4});
  const nn::LayerNorm unshifted = scaled(nn::LayerNormConfig{.size = 4, .bias = false}.init(cpu));
  expect_near(unshifted.forward(x), normalised(
                                        x.value(), 4, 1e-5, true, [](std::size_t i) { return weight_of(i % 4); },
                                        [](std::size_t) { return 0.0; }));
  const nn::LayerNorm bare = nn::LayerNormConfig{.size = 4, .affine = false}.init(cpu);
  expect_near(bare.forward(x),
              normalised(x.value(), 4, 1e-5, true, [](std::size_t) { return 1.0; }, [](std::size_t) { return 0.0; }));
}

TEST(LocalResponseNorm, DividesByWhatNeighbouringChannelsHold) {
  const nn::LocalResponseNorm norm{.size = 3, .alpha = 0.3, .beta = 0.75, .k = 2};
  const auto x = sines_of<3>({1, 4, 2});
  const auto in = x.to_vector<double>();
  std::vector<double> right;
  for (int c = 0; c < 4; ++c)
    for (int i = 0; i < 2; ++i) {
      double sum = 0;
      for (int near = std::max(c - 1, 0); near <= std::min(c + 1, 3); ++near)
        sum += std::pow(in[static_cast<std::size_t>(2 * near + i)], 2);
      right.push_back(in[static_cast<std::size_t>(2 * c + i)] / std::pow(2 + 0.3 / 3 * sum, 0.75));
    }
  expect_near(norm.forward(x), right);
}

TEST(BatchNorm, MayLackItsParameters) {
  const nn::BatchNorm norm = nn::BatchNormConfig{.channels = 2, .affine = false}.init(cpu);
  EXPECT_EQ(num_params(norm), 0);
  const auto x = sines_of<3>({3, 2, 2});
  // Channels beside each other make runs of a channel.
  const Value by_channel = permute(x.value(), {1, 0, 2});
  const auto right =
      normalised(by_channel, 6, 1e-5, true, [](std::size_t) { return 1.0; }, [](std::size_t) { return 0.0; });
  expect_near(Tensor<3>(permute(norm.forward(x).value(), {1, 0, 2})), right);
  EXPECT_EQ(valid(norm).forward(x).shape(), x.shape());
}

TEST(Norms, HaveRightGradients) {
  expect_right_gradients(scaled(nn::GroupNormConfig{.groups = 2, .channels = 4}.init(autodiff)),
                         [](const nn::GroupNorm& m) { return weighted(m.forward(input<3>({2, 4, 3})).tanh()); });
  expect_right_gradients(scaled(nn::InstanceNormConfig{.channels = 2}.init(autodiff)),
                         [](const nn::InstanceNorm& m) { return weighted(m.forward(input<3>({2, 2, 3})).tanh()); });
  expect_right_gradients(scaled(nn::RmsNormConfig{.size = 3}.init(autodiff)),
                         [](const nn::RmsNorm& m) { return weighted(m.forward(input<2>({2, 3})).tanh()); });
}

struct Options {
  nn::NormalizationConfig norm = nn::LayerNormConfig{};
};

TEST(Normalization, IsChosenByAConfig) {
  const auto made = [](std::string_view json) {
    const auto options = from_json<Options>(json, "net.json");
    return nn::Normalization::from(with_features(options.norm, 4), cpu);
  };
  EXPECT_EQ(made("{}").get<nn::LayerNorm>()->weight.shape(), (Shape{4}));
  EXPECT_EQ(made(R"({"norm": {"GroupNorm": {"groups": 2}}})").get<nn::GroupNorm>()->weight.shape(), (Shape{4}));
  EXPECT_EQ(made(R"({"norm": {"RmsNorm": {"size": 3}}})").get<nn::RmsNorm>()->weight.shape(), (Shape{3}));
  EXPECT_EQ(made(R"({"norm": "BatchNorm"})").get<nn::BatchNorm>()->mode, nn::Mode::Train);
  EXPECT_EQ(made(R"({"norm": "LocalResponseNorm"})").get<nn::LocalResponseNorm>()->size, 5);
  const auto x = sines_of<3>({2, 4, 3});
  EXPECT_EQ(made(R"({"norm": "InstanceNorm"})").forward(x).to_vector(),
            nn::InstanceNormConfig{.channels = 4}.init(cpu).forward(x).to_vector());
  EXPECT_EQ(made(R"({"norm": "Identity"})").forward(x).to_vector(), x.to_vector());
}

TEST(Mode, IsSetForSomeModulesAlone) {
  using Layers = nn::Sequential<nn::Normalization, std::vector<nn::Dropout>>;
  Layers layers;
  layers.layers() = {nn::BatchNormConfig{.channels = 2}.init(cpu), std::vector<nn::Dropout>(2)};
  const auto modes = [](const Layers& m) {
    return std::pair(m.layer<0>().get<nn::BatchNorm>()->mode, m.layer<1>()[1].mode);
  };
  using nn::Mode;
  EXPECT_EQ(modes(with_mode<nn::Dropout>(valid(layers), Mode::Train)), std::pair(Mode::Valid, Mode::Train));
  EXPECT_EQ(modes(with_mode<nn::BatchNorm>(train(layers), Mode::Valid)), std::pair(Mode::Valid, Mode::Train));
  EXPECT_EQ(modes(with_mode<nn::BatchNorm, nn::Dropout>(train(layers), Mode::Valid)),
            std::pair(Mode::Valid, Mode::Valid));
}

TEST(Norms, SayWhatIsWrong) {
  EXPECT_EQ(sentence_of([] { nn::GroupNormConfig{.groups = 3, .channels = 4}.init(cpu); }),
            "ArgumentError: GroupNormConfig: 3 groups do not divide 4 channels");
  EXPECT_EQ(sentence_of([] { nn::RmsNormConfig{}.init(cpu); }),
            "ArgumentError: RmsNormConfig: size = 0 must be positive");
  EXPECT_EQ(sentence_of([] { nn::InstanceNormConfig{}.init(cpu); }),
            "ArgumentError: InstanceNormConfig: channels = 0 must be positive");
  EXPECT_THROW(nn::GroupNormConfig{.channels = 4}.init(cpu).forward(sines_of<3>({1, 3, 2})), ShapeError);
  EXPECT_EQ(sentence_of([] { nn::BatchNormConfig{.channels = 4}.init(cpu).forward(sines_of<3>({1, 3, 2})); }),
            "ShapeError: BatchNorm: dimension 1 of [1, 3, 2] is not the layer's 4 channels");
}

}  // namespace
}  // namespace kiln
