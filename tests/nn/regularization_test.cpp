// Noise, and weights that are made of others.
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/autodiff/checkpoint.hpp"
#include "kiln/nn/linear.hpp"
#include "kiln/nn/module.hpp"
#include "kiln/nn/regularization/dropout.hpp"
#include "kiln/nn/regularization/weight_norm.hpp"
#include "kiln/nn/spatial/conv.hpp"
#include "kiln/ops/linalg/vector_norm.hpp"

#include "differences.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::autodiff, test::cpu;

template <int D>
Tensor<D> ones_of(const Shape& shape) {
  return Tensor<D>(ones(shape, cpu));
}
double mean_of(const std::vector<float>& numbers) {
  double sum = 0;
  for (const float number : numbers) sum += number;
  return sum / static_cast<double>(numbers.size());
}
double variance_of(const std::vector<float>& numbers) {
  const double mean = mean_of(numbers);
  double sum = 0;
  for (const float number : numbers) sum += (number - mean) * (number - mean);
  return sum / static_cast<double>(numbers.size());
}

TEST(ChannelDropout, DropsWholeChannels) {
  cpu.seed(1);
  const auto y = nn::Dropout2d{.probability = 0.25}.forward(ones_of<4>({50, 40, 2, 3})).to_vector();
  int dropped = 0;
  for (std::size_t channel = 0; channel < 2000; ++channel) {
    const float first = y[channel * 6];
    dropped += first == 0;
    EXPECT_FLOAT_EQ(first, first == 0 ? 0 : 4.0f / 3);
    for (std::size_t i = 1; i < 6; ++i) EXPECT_EQ(y[channel * 6 + i], first);
  }
  EXPECT_NEAR(dropped / 2000.0, 0.25, 0.04);
  const auto x = sines_of<3>({2, 3, 4});
  EXPECT_EQ(valid(nn::Dropout1d{}).forward(x).to_vector(), x.to_vector());
  EXPECT_EQ(nn::Dropout3d{.probability = 1}.forward(ones_of<5>({1, 2, 2, 2, 2})).sum().item(), 0);
  EXPECT_THROW(nn::Dropout1d{.probability = 1.5}.forward(x), ArgumentError);
}

TEST(DropPath, DropsWholeExamples) {
  cpu.seed(2);
  const auto y = nn::DropPath{.probability = 0.5}.forward(ones_of<3>({400, 2, 2})).to_vector();
  int dropped = 0;
  for (std::size_t example = 0; example < 400; ++example) {
    dropped += y[example * 4] == 0;
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(y[example * 4 + i], y[example * 4] == 0 ? 0 : 2);
  }
  EXPECT_NEAR(dropped / 400.0, 0.5, 0.1);
  EXPECT_EQ(valid(nn::DropPath{}).forward(ones_of<1>({3})).to_vector(), (std::vector<float>{1, 1, 1}));
}

TEST(AlphaDropout, KeepsMeanAndVariance) {
  cpu.seed(3);
  const Tensor<1> x(normal({200000}, 0, 1, cpu));
  for (const double probability : {0.1, 0.5}) {
    const auto y = nn::AlphaDropout{.probability = probability}.forward(x).to_vector();
    EXPECT_NEAR(mean_of(y), 0, 0.02);
    EXPECT_NEAR(variance_of(y), 1, 0.03);
    // What is dropped is one number: (selu's bound, -1.7580993) scaled and shifted.
    const double a = 1 / std::sqrt((1 - probability) * (1 + probability * 1.7580993 * 1.7580993));
    const double dropped = -1.7580993 * a * (1 - probability);
    std::size_t count = 0;
    for (const float number : y) count += std::abs(number - dropped) < 1e-5;
    EXPECT_NEAR(static_cast<double>(count) / 200000, probability, 0.01);
  }
  EXPECT_EQ(valid(nn::AlphaDropout{}).forward(x).to_vector(), x.to_vector());
  EXPECT_EQ(sentence_of([&] { return nn::AlphaDropout{.probability = 1}.forward(x); }),
            "ArgumentError: AlphaDropout: a probability of 1 is not in [0, 1)");
}

TEST(GaussianNoise, AddsNumbersOfItsDeviation) {
  cpu.seed(4);
  const auto y = nn::GaussianNoise{.deviation = 0.3}.forward(ones_of<1>({100000})).to_vector();
  EXPECT_NEAR(mean_of(y), 1, 0.01);
  EXPECT_NEAR(std::sqrt(variance_of(y)), 0.3, 0.01);
  EXPECT_EQ(valid(nn::GaussianNoise{}).forward(ones_of<1>({2})).to_vector(), (std::vector<float>{1, 1}));
  EXPECT_EQ(sentence_of([] { return nn::GaussianNoise{.deviation = -1}.forward(ones_of<1>({2})); }),
            "ArgumentError: GaussianNoise: the deviation must not be negative, got -1");
}

TEST(WeightNorm, IsTheLayerUntilItIsTrained) {
  autodiff.seed(5);
  const nn::Linear layer = nn::LinearConfig{.in = 3, .out = 2}.init(autodiff);
  auto normed = weight_norm(layer);
  const auto x = sines_of<2>({4, 3});
  const auto before = layer.forward(x).to_vector(), after = normed.forward(x).to_vector();
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-6);
  EXPECT_EQ(normed.magnitude.shape(), (Shape{2, 1}));
  EXPECT_EQ(num_params(normed), 6 + 2 + 2);
  // Twice the magnitude is twice the weight, and the length of the direction does not matter.
  normed.magnitude = nn::Param<2>(normed.magnitude * 2.0);
  normed.layer.weight = nn::Param<2>(normed.layer.weight * 5.0);
  const auto weight = normed.weight().to_vector(), original = layer.weight.to_vector();
  for (std::size_t i = 0; i < weight.size(); ++i) EXPECT_NEAR(weight[i], 2 * original[i], 1e-6);
}

TEST(WeightNorm, HasRightGradients) {
  using Normed = nn::WeightNorm<nn::Linear>;
  expect_right_gradients(nn::weight_norm(nn::LinearConfig{.in = 3, .out = 2}.init(autodiff)),
                         [](const Normed& m) { return weighted(m.forward(input<2>({2, 3})).tanh()); });
  using Conv = nn::WeightNorm<nn::Conv2d>;
  expect_right_gradients(nn::weight_norm(nn::Conv2dConfig{.in = 2, .out = 2, .kernel = {2}}.init(autodiff)),
                         [](const Conv& m) { return weighted(m.forward(input<4>({1, 2, 3, 3})).tanh()); });
}

TEST(SpectralNorm, DividesByTheLargestSingularValue) {
  autodiff.seed(6);
  const nn::Conv1d layer = nn::Conv1dConfig{.in = 2, .out = 3, .kernel = {3}}.init(autodiff);
  auto normed = nn::spectral_norm(layer, 0, 20);
  for (int i = 0; i < 3; ++i) normed.forward(sines_of<3>({1, 2, 4}));
  const Value matrix = reshape(normed.weight().value().detach(), {3, 6});
  EXPECT_NEAR(matrix_norm(matrix, MatrixNorm::Spectral).item(), 1, 1e-5);
  // After training the vectors stay.
  const auto fixed = valid(normed);
  const auto u = fixed.u.get().to_vector();
  fixed.forward(sines_of<3>({1, 2, 4}));
  EXPECT_EQ(fixed.u.get().to_vector(), u);
  auto once = nn::spectral_norm(layer, 0, 1);
  once.layer.weight = nn::Param<3>(Tensor<3>(sines({3, 2, 3}, 0.8, 0.1, autodiff)));  // as training moves it
  const auto before = once.u.get().to_vector();
  once.forward(sines_of<3>({1, 2, 4}));
  EXPECT_NE(once.u.get().to_vector(), before);
}

TEST(SpectralNorm, HasTheGradientOfFixedVectors) {
  using Normed = nn::SpectralNorm<nn::Linear>;
  const Normed normed = valid(nn::spectral_norm(nn::LinearConfig{.in = 3, .out = 2}.init(autodiff)));
  Normed exact = normed;
  exact.u = nn::Buffer<1>(cast(normed.u.value(), DType::F64));
  exact.v = nn::Buffer<1>(cast(normed.v.value(), DType::F64));
  expect_right_gradients(exact, [](const Normed& m) { return weighted(m.forward(input<2>({2, 3})).tanh()); });
}

TEST(SpectralNorm, TakesOneStepWhereItRunsAgainForItsGradient) {
  autodiff.seed(7);
  const auto normed = nn::spectral_norm(nn::LinearConfig{.in = 3, .out = 2}.init(autodiff));
  const auto twin = nn::SpectralNorm<nn::Linear>(normed);
  const auto x = Tensor<2>(sines({2, 3}, 0.4, 0.1, autodiff)).require_grad();
  checkpoint([&](const Tensor<2>& y) { return normed.forward(y); }, x).sum().backward();
  twin.forward(x);
  EXPECT_EQ(normed.u.get().to_vector(), twin.u.get().to_vector());
}

}  // namespace
}  // namespace kiln
